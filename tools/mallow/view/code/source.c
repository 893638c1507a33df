/* SPDX-License-Identifier: MIT
 * source.c -- opens candidates and checks the opened file, because a path may change meanwhile. */
#include "view/code/source.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/memory.h"

/* True if the open file is below one of the folders.  The check uses the file's path without
 * links and dots. */
static bool is_below(int fd, const char *roots) {
	char link[64], path[PATH_MAX], root[PATH_MAX], real[PATH_MAX];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t got = roots != NULL ? readlink(link, path, sizeof(path) - 1) : -1;
	if (got <= 0)
		return false;
	path[got] = '\0';
	for (size_t length; *roots != '\0'; roots += length + (roots[length] == ':')) {
		length = strcspn(roots, ":");
		snprintf(root, sizeof(root), "%.*s", (int)length, roots);
		if (realpath(root, real) == NULL)
			continue;
		size_t real_length = strlen(real);
		/* Only the root directory ends with a slash. */
		real_length -= real[real_length - 1] == '/';
		if (strncmp(path, real, real_length) == 0 && path[real_length] == '/')
			return true;
	}
	return false;
}

static bool may_be_shown(const struct stat *file) {
	bool is_own = geteuid() != 0 && file->st_uid == geteuid();
	bool is_public = (file->st_mode & S_IROTH) != 0;
	return is_own || (file->st_uid == 0 && is_public);
}

/* Opens a file that may be shown.  Pipes and devices are refused. */
static FILE *open_allowed(const char *path, const char *roots, const char **why) {
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return NULL;
	bool is_regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
	if (is_regular && (may_be_shown(&info) || is_below(fd, roots)))
		return fdopen(fd, "r");
	if (is_regular)
		*why = "the file is not yours or root's, or is not public";
	close(fd);
	return NULL;
}

/* Tries the file's path below a directory: the whole path, then without its first parts one by
 * one. */
static FILE *open_below(const char *root, size_t root_length, const char *file, const char *roots,
			const char **why) {
	FILE *source = NULL;
	for (const char *tail = file; source == NULL && tail != NULL;) {
		size_t size = root_length + strlen(tail) + 2;
		char *path = mw_xcalloc(size, 1);
		snprintf(path, size, "%.*s/%s", (int)root_length, root, tail);
		source = open_allowed(path, roots, why);
		free(path);
		tail = strchr(tail, '/');
		tail = tail != NULL ? tail + 1 : NULL;
	}
	return source;
}

FILE *mw_source_open(const char *file, const char *roots, const char **why) {
	*why = "no source";
	FILE *source = open_allowed(file, roots, why);
	const char *at = roots;
	while (source == NULL && at != NULL && *at != '\0') {
		size_t length = strcspn(at, ":");
		source = open_below(at, length, file, roots, why);
		at += length + (at[length] == ':');
	}
	return source;
}
