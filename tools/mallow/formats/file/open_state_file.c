/* SPDX-License-Identifier: MIT
 * open_state_file.c -- opens state files relative to a descriptor of their directory. */
#include "formats/file/open_state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/memory.h"
#include "state/layout.h"

static bool is_made_of(const char *text, size_t length, const char *characters) {
	return length > 0 && strspn(text, characters) >= length;
}

/* Returns the file's name in a path like ".../mallow-1000/4711.99"; NULL: the path has another
 * form. */
static const char *name_in_folder(const char *path) {
	static const char prefix[] = "mallow-";
	const char *slash = strrchr(path, '/');
	if (slash == NULL || !is_made_of(slash + 1, strlen(slash + 1), "0123456789."))
		return NULL;
	const char *directory = memrchr(path, '/', (size_t)(slash - path));
	directory = directory != NULL ? directory + 1 : path;
	const char *number = directory + strlen(prefix);
	bool is_ours = strncmp(directory, prefix, strlen(prefix)) == 0 && number < slash &&
		       is_made_of(number, (size_t)(slash - number), "0123456789");
	return is_ours ? slash + 1 : NULL;
}

/* Opens the directory that `path` has before `name`. */
static int open_folder(const char *path, const char *name) {
	char *directory = mw_xstrdup(path);
	directory[name - path - 1] = '\0';
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	free(directory);
	return fd;
}

/* Closes `fd` and keeps errno, so that an earlier error is reported. */
static void close_folder(int fd) {
	int saved_errno = errno;
	close(fd);
	errno = saved_errno;
}

/* ---- regular files only ---- */

static struct {
	char **items;
	size_t count, capacity;
} found; /* directories in which the command finds names */

void mw_open_only_files_below(const char *directory) {
	for (size_t i = 0; i < found.count; i++)
		if (strcmp(found.items[i], directory) == 0)
			return;
	found.items = mw_grow(found.items, &found.capacity, found.count + 1, sizeof(char *));
	found.items[found.count++] = mw_xstrdup(directory);
}

static bool is_found(const char *path) {
	for (size_t i = 0; i < found.count; i++) {
		size_t length = strlen(found.items[i]);
		if (strncmp(path, found.items[i], length) == 0 && path[length] == '/')
			return true;
	}
	return getenv(MW_OPEN_ONLY_FILES) != NULL;
}

/* Looks at what the path leads to without opening it, then opens just that.  Without /proc what it
 * led to may be opened, but is not waited for. */
static int open_regular(const char *path, int flags) {
	char link[64];
	struct stat info;
	int place = open(path, O_PATH | O_CLOEXEC);
	if (place < 0 || fstat(place, &info) != 0)
		return -1;
	if (!S_ISREG(info.st_mode)) {
		close(place);
		errno = S_ISDIR(info.st_mode) ? EISDIR : ENXIO;
		return -1;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	int fd = open(link, flags);
	if (fd < 0 && errno == ENOENT)
		fd = open(path, flags | O_NONBLOCK);
	close_folder(place);
	if (fd >= 0 && (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))) {
		close(fd);
		fd = -1;
		errno = ENXIO;
	}
	return fd;
}

int mw_open_file(const char *path, int flags) {
	flags |= O_CLOEXEC | O_NOCTTY;
	const char *name = name_in_folder(path);
	if (name == NULL)
		return is_found(path) ? open_regular(path, flags) : open(path, flags);
	int directory = open_folder(path, name);
	if (directory < 0)
		return -1;
	/* O_NONBLOCK: opening a named pipe in place of the file must not block.  The flag has no
	 * effect on files. */
	int fd = openat(directory, name, flags | O_NOFOLLOW | O_NONBLOCK);
	close_folder(directory);
	return fd;
}

int mw_remove_file(const char *path, dev_t device, ino_t inode) {
	const char *name = name_in_folder(path);
	int directory = name != NULL ? open_folder(path, name) : -1;
	struct stat file;
	if (directory < 0)
		return -1;
	int result = fstatat(directory, name, &file, AT_SYMLINK_NOFOLLOW);
	if (result == 0 && (file.st_dev != device || file.st_ino != inode)) {
		errno = ESTALE;
		result = -1;
	}
	if (result == 0)
		result = unlinkat(directory, name, 0);
	close_folder(directory);
	return result;
}

struct flock mw_state_file_lock(off_t byte, short type) {
	return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
}

bool mw_state_file_is_held(int fd) {
	/* The process holds a write lock, which a read lock conflicts with.  F_GETLK asks
	 * without taking a lock. */
	struct flock lock = mw_state_file_lock(MW_STATE_ALIVE_LOCK, F_RDLCK);
	if (fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
		return true;
	/* On kernels before 3.15 the process holds a lock of the whole file. */
	if (flock(fd, LOCK_SH | LOCK_NB) != 0)
		return errno == EWOULDBLOCK;
	flock(fd, LOCK_UN);
	return false;
}

bool mw_state_file_is_held_at(const char *path) {
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool is_held = fd >= 0 && mw_state_file_is_held(fd);
	if (fd >= 0)
		close(fd);
	return is_held;
}
