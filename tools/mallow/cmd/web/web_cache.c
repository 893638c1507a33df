/* SPDX-License-Identifier: MIT
 * web_cache.c -- a few answers, of which the one that was not used for longest goes first. */
#include "cmd/web/web_cache.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "state/layout.h"

#define ENTRIES 32u
/* All answers together. */
#define BYTES_MAX ((uint64_t)256 << 20)
/* Names may come from debug information that is installed meanwhile. */
#define KEPT_SECONDS 300
/* Two changes within a tick of the clock that stamps files have one time: ticks are up to 10 ms
 * long, 2 s on some file systems.  An answer about a file that changed since is not kept. */
#define UNCHANGED_SECONDS 3

typedef struct entry {
	char key[MW_WEB_KEY_BYTES];
	int fd;               /* 0: the entry is free */
	uint64_t bytes, used; /* `used`: number of the last use */
	time_t since;
} entry_t;

static struct {
	pthread_mutex_t lock;
	entry_t entries[ENTRIES];
	uint64_t bytes, uses;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

static time_t now_seconds(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* Appends to the key; false: there is no room. */
static bool append(char key[MW_WEB_KEY_BYTES], size_t *length, const char *text) {
	size_t bytes = strlen(text) + 1; /* a line's end keeps words apart */
	if (*length + bytes >= MW_WEB_KEY_BYTES)
		return false;
	memcpy(key + *length, text, bytes - 1);
	*length += bytes;
	key[*length - 1] = '\n';
	key[*length] = '\0';
	return true;
}

/* Programs write their state files through mappings, which leaves size and times as they are. */
static bool is_state_file(const char *path) {
	char magic[sizeof(MW_STATE_MAGIC) - 1];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool is_state = fd >= 0 && pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
			memcmp(magic, MW_STATE_MAGIC, sizeof(magic)) == 0;
	if (fd >= 0)
		close(fd);
	return is_state;
}

static bool is_unchanged(const struct stat *info) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return info->st_mtim.tv_sec + UNCHANGED_SECONDS < now.tv_sec &&
	       info->st_ctim.tv_sec + UNCHANGED_SECONDS < now.tv_sec;
}

/* Appends which file it is and when it was written; false: it is no file, or a change of it might
 * go unnoticed.  Programs set the time of a change (mtime) as they like, that of the inode's change
 * (ctime) they do not. */
static bool append_file(char key[MW_WEB_KEY_BYTES], size_t *length, const char *path) {
	struct stat info;
	char text[160];
	if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || !is_unchanged(&info) ||
	    is_state_file(path))
		return false;
	snprintf(text, sizeof(text),
		 "%" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 ".%09ld %" PRId64 ".%09ld",
		 (uint64_t)info.st_dev, (uint64_t)info.st_ino, (int64_t)info.st_size,
		 (int64_t)info.st_mtim.tv_sec, info.st_mtim.tv_nsec, (int64_t)info.st_ctim.tv_sec,
		 info.st_ctim.tv_nsec);
	return append(key, length, text);
}

void mw_web_cache_key(const mw_web_words_t *words, const mw_http_request_t *request,
		      char key[MW_WEB_KEY_BYTES]) {
	const char *target = mw_http_query(request, "p"), *base = mw_http_query(request, "base");
	size_t length = 0;
	/* Sources and binaries are other files. */
	bool is_kept = strcmp(words->command.words[1], "weblist") != 0 && target != NULL &&
		       append_file(key, &length, target) &&
		       (base == NULL || *base == '\0' || append_file(key, &length, base));
	for (size_t i = 1; is_kept && i < words->count; i++)
		is_kept = append(key, &length, words->command.words[i]);
	if (!is_kept)
		key[0] = '\0';
}

static void drop(entry_t *entry) {
	close(entry->fd);
	cache.bytes -= entry->bytes;
	entry->fd = 0;
}

int mw_web_cache_find(const char *key) {
	int fd = -1;
	if (*key == '\0')
		return -1;
	pthread_mutex_lock(&cache.lock);
	for (size_t i = 0; i < ENTRIES; i++) {
		entry_t *entry = &cache.entries[i];
		if (entry->fd > 0 && now_seconds() - entry->since > KEPT_SECONDS)
			drop(entry);
		if (entry->fd > 0 && strcmp(entry->key, key) == 0) {
			entry->used = ++cache.uses;
			fd = fcntl(entry->fd, F_DUPFD_CLOEXEC, 0);
		}
	}
	pthread_mutex_unlock(&cache.lock);
	return fd;
}

static entry_t *oldest(void) {
	entry_t *found = NULL;
	for (size_t i = 0; i < ENTRIES; i++) {
		entry_t *entry = &cache.entries[i];
		if (entry->fd > 0 && (found == NULL || entry->used < found->used))
			found = entry;
	}
	return found;
}

static entry_t *free_entry(void) {
	for (size_t i = 0; i < ENTRIES; i++)
		if (cache.entries[i].fd == 0)
			return &cache.entries[i];
	entry_t *entry = oldest();
	drop(entry);
	return entry;
}

void mw_web_cache_add(const char *key, int fd) {
	struct stat info;
	if (*key == '\0' || fstat(fd, &info) != 0 || (uint64_t)info.st_size > BYTES_MAX)
		return;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (copy < 0)
		return;
	pthread_mutex_lock(&cache.lock);
	while (cache.bytes + (uint64_t)info.st_size > BYTES_MAX)
		drop(oldest());
	entry_t *entry = free_entry();
	entry->fd = copy;
	entry->bytes = (uint64_t)info.st_size;
	entry->since = now_seconds();
	entry->used = ++cache.uses;
	snprintf(entry->key, sizeof(entry->key), "%s", key);
	cache.bytes += entry->bytes;
	pthread_mutex_unlock(&cache.lock);
}
