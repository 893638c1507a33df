/* SPDX-License-Identifier: MIT
 * jit_find.c -- where the files are, and whose they are. */
#include "symbol/jit_find.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Largest file that is read.  Reading more would take ten seconds. */
#define FILE_BYTES_MAX ((off_t)256 << 20)

/* The user of the process. Files of that user are believed, and those of root and of the user who
 * asks. */
typedef struct owner {
	uid_t user;
	bool is_known;
} owner_t;

static owner_t owner_of(const mw_profile_t *p, uint32_t pid) {
	char path[32];
	struct stat process;
	snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
	if (pid != 0)
		return stat(path, &process) == 0 ? (owner_t){process.st_uid, true}
						 : (owner_t){.is_known = false};
	return (owner_t){p->origin.uid, p->origin.uid_known};
}

static bool is_believed(const struct stat *file, owner_t owner) {
	bool is_owner = file->st_uid == 0 || file->st_uid == geteuid() ||
			(owner.is_known && file->st_uid == owner.user);
	return S_ISREG(file->st_mode) && file->st_nlink == 1 && is_owner &&
	       file->st_size <= FILE_BYTES_MAX;
}

/* `inode`: 0, or the number that the file must have. */
static FILE *open_believed(const char *path, owner_t owner, ino_t inode) {
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	struct stat file;
	FILE *stream = NULL;
	if (fd >= 0 && fstat(fd, &file) == 0 && is_believed(&file, owner) &&
	    (inode == 0 || file.st_ino == inode))
		stream = fdopen(fd, "r");
	if (stream == NULL && fd >= 0)
		close(fd);
	return stream;
}

uint32_t mw_jit_own_pid(const mw_profile_t *p, uint32_t pid) {
	return p->origin.pid != 0 ? p->origin.pid : pid;
}

FILE *mw_jit_find_map(const mw_profile_t *p, uint32_t pid) {
	char path[96];
	uint32_t own_pid = mw_jit_own_pid(p, pid);
	owner_t owner = owner_of(p, pid);
	FILE *map = NULL;
	if (own_pid == 0)
		return NULL;
	if (pid != 0) {
		snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root/tmp/perf-%" PRIu32 ".map", pid,
			 own_pid);
		map = open_believed(path, owner, 0);
	}
	if (map == NULL) {
		snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", own_pid);
		map = open_believed(path, owner, 0);
	}
	return map;
}

/* Opens the file of this name that the process maps. */
static FILE *open_mapped(uint32_t pid, const char *name, owner_t owner) {
	char path[48], *line = NULL, *file = NULL;
	size_t capacity = 0, length = strlen(name);
	FILE *found = NULL;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	FILE *maps = fopen(path, "re");
	while (maps != NULL && found == NULL && getline(&line, &capacity, maps) > 0) {
		unsigned long inode;
		int at = 0;
		line[strcspn(line, "\n")] = '\0';
		size_t bytes = strlen(line);
		if (bytes <= length || strcmp(line + bytes - length, name) != 0 ||
		    line[bytes - length - 1] != '/' ||
		    sscanf(line, "%*s %*s %*s %*s %lu %n", &inode, &at) != 1 || at == 0 ||
		    asprintf(&file, "/proc/%" PRIu32 "/root%s", pid, line + at) < 0)
			continue;
		found = open_believed(file, owner, (ino_t)inode);
		free(file);
	}
	free(line);
	if (maps != NULL)
		fclose(maps);
	return found;
}

FILE *mw_jit_find_dump(const mw_profile_t *p, uint32_t pid) {
	char name[32], path[48];
	uint32_t own_pid = mw_jit_own_pid(p, pid);
	owner_t owner = owner_of(p, pid);
	if (own_pid == 0)
		return NULL;
	snprintf(name, sizeof(name), "jit-%" PRIu32 ".dump", own_pid);
	if (pid != 0)
		return open_mapped(pid, name, owner);
	snprintf(path, sizeof(path), "/tmp/%s", name);
	FILE *dump = open_believed(path, owner, 0);
	return dump != NULL ? dump : open_believed(name, owner, 0);
}
