/* SPDX-License-Identifier: MIT
 * cache_folder.c -- paths in the symbol cache, and the limit of its size. */
#include "symbol/cache/cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "model/memory.h"

/* Largest cache: enough for the symbols of some hundred programs. */
#define BYTES_MAX ((uint64_t)256 << 20)
/* Age in seconds at which a temporary file counts as left by a killed command. */
#define TEMPORARY_SECONDS 3600

static char *join(const char *directory, const char *name, const char *suffix) {
	size_t size = strlen(directory) + strlen(name) + strlen(suffix) + 2;
	char *path = mw_xcalloc(size, 1);
	snprintf(path, size, "%s/%s%s", directory, name, suffix);
	return path;
}

/* Makes the folder `name` in `parent` and frees `parent`.  NULL: the folder could not be made. */
static char *make_folder(char *parent, const char *name) {
	char *path = join(parent, name, "");
	free(parent);
	struct stat file;
	mkdir(path, 0700);
	if (stat(path, &file) == 0 && S_ISDIR(file.st_mode))
		return path;
	free(path);
	return NULL;
}

char *mw_cache_directory(void) {
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *path = NULL;
	if (base != NULL && base[0] == '/') {
		mkdir(base, 0700);
		path = mw_xstrdup(base);
	} else if (home != NULL && home[0] == '/')
		path = make_folder(mw_xstrdup(home), ".cache");
	path = path != NULL ? make_folder(path, "mallow") : NULL;
	return path != NULL ? make_folder(path, "symbols") : NULL;
}

/* FNV-1a, which gives equal values in every run.  Two paths with one hash overwrite each other's
 * file; symbol_cache.c compares the paths. */
static uint64_t hash_of(const char *text) {
	uint64_t hash = 0xcbf29ce484222325u;
	for (; *text != '\0'; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash;
}

char *mw_cache_path(const char *directory, const char *build_id, const char *path) {
	char suffix[32];
	size_t length = strlen(build_id);
	/* Linkers make build-ids of at least 8 bytes. */
	if (directory == NULL || length < 16 || length > 128 ||
	    strspn(build_id, "0123456789abcdef") != length)
		return NULL;
	snprintf(suffix, sizeof(suffix), "-%016" PRIx64 ".pb", hash_of(path));
	return join(directory, build_id, suffix);
}

bool mw_cache_may_read(const char *path) {
	struct stat file;
	return lstat(path, &file) == 0 && S_ISREG(file.st_mode) && file.st_uid == geteuid();
}

typedef struct entry {
	char *path;
	uint64_t bytes;
	struct timespec written;
} entry_t;

static int compare_newest_first(const void *a, const void *b) {
	const struct timespec *x = &((const entry_t *)a)->written;
	const struct timespec *y = &((const entry_t *)b)->written;
	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? 1 : -1;
	return x->tv_nsec < y->tv_nsec ? 1 : x->tv_nsec > y->tv_nsec ? -1 : 0;
}

/* Lists the files of the folder.  Temporary files are listed only when they are old. */
static entry_t *list(const char *directory, size_t *count) {
	entry_t *entries = NULL;
	size_t capacity = 0;
	*count = 0;
	DIR *stream = opendir(directory);
	time_t now = time(NULL);
	for (struct dirent *d; stream != NULL && (d = readdir(stream)) != NULL;) {
		char *path = join(directory, d->d_name, "");
		struct stat file;
		const char *suffix = strrchr(d->d_name, '.');
		bool temporary = suffix != NULL && strcmp(suffix, ".tmp") == 0;
		if (lstat(path, &file) != 0 || !S_ISREG(file.st_mode) ||
		    (temporary && file.st_mtime > now - TEMPORARY_SECONDS)) {
			free(path);
			continue;
		}
		entries = mw_grow(entries, &capacity, *count + 1, sizeof(entry_t));
		/* An old temporary file is deleted whatever its size. */
		entries[(*count)++] = (entry_t){
			path, temporary ? BYTES_MAX + 1 : (uint64_t)file.st_size, file.st_mtim};
	}
	if (stream != NULL)
		closedir(stream);
	return entries;
}

void mw_cache_trim(const char *path) {
	char *directory = mw_xstrdup(path);
	*strrchr(directory, '/') = '\0';
	size_t count;
	entry_t *entries = list(directory, &count);
	if (count > 1)
		qsort(entries, count, sizeof(entry_t), compare_newest_first);
	uint64_t bytes = 0;
	for (size_t i = 0; i < count; i++) {
		if (bytes + entries[i].bytes > BYTES_MAX)
			unlink(entries[i].path);
		else
			bytes += entries[i].bytes;
		free(entries[i].path);
	}
	free(entries);
	free(directory);
}
