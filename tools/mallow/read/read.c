/* SPDX-License-Identifier: MIT
 * read.c -- loads a file, unpacks it, and picks the reader by the first bytes. */
#include "read/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/alloc.h"
#include "read/formats.h"
#include "read/state_file.h"
#include "read/unpack.h"

/* The content of an open file and a NUL behind it; NULL: error. */
static char *load(int fd, const char *name, size_t *length, mw_error_t *error) {
	struct stat file;
	*length = 0;
	/* 64 KiB and one for the NUL; pipes have no size to ask for. */
	const size_t step = (64u << 10) + 1;
	size_t capacity = step;
	if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
	    (uint64_t)file.st_size <= MW_READ_BYTES_MAX)
		capacity += (size_t)file.st_size;
	char *bytes = mw_xrealloc(NULL, capacity, 1);
	for (;;) {
		bytes = mw_grow(bytes, &capacity, *length + step, 1);
		ssize_t got = read(fd, bytes + *length, capacity - *length - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			mw_error_set(error, "%s: cannot read: %s", name, strerror(errno));
			break;
		}
		if (got == 0) {
			bytes[*length] = '\0';
			return bytes;
		}
		*length += (size_t)got;
		if (*length > MW_READ_BYTES_MAX) {
			mw_error_set(error, "%s: is larger than 2 GiB, too much for a profile",
				     name);
			break;
		}
	}
	free(bytes);
	return NULL;
}

static const struct {
	bool (*is_it)(const char *bytes, size_t length);
	int (*read)(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		    mw_error_t *error);
} readers[] = {
	{mw_is_heap_text, mw_read_heap_text},   {mw_is_cpu, mw_read_cpu},
	{mw_is_contention, mw_read_contention}, {mw_is_go_count, mw_read_go_count},
	{mw_is_symbolized, mw_read_symbolized}, {mw_is_allocation_log, mw_read_allocation_log},
	{mw_is_heaptrack, mw_read_heaptrack},   {mw_is_massif, mw_read_massif},
	{mw_is_folded, mw_read_folded},
};

int mw_read_plain(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		  mw_error_t *error) {
	if (length == 0)
		return mw_error_set(error, "%s: is empty", name);
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
		if (readers[i].is_it(bytes, length))
			return readers[i].read(profile, name, bytes, length, error);
	return mw_read_proto(profile, name, bytes, length, error);
}

/* `bytes` has a NUL behind it. */
static int read_bytes(const char *name, const char *bytes, size_t length, mw_profile_t **profile,
		      mw_error_t *error) {
	mw_profile_t *read = mw_profile_new();
	char *unpacked = NULL;
	int result = 0;
	if (mw_is_packed(bytes, length)) {
		unpacked = mw_unpack(name, bytes, length, &length, error);
		bytes = unpacked;
		result = unpacked != NULL ? 0 : -1;
	}
	if (result == 0)
		result = mw_read_plain(read, name, bytes, length, error);
	free(unpacked);
	if (result != 0) {
		mw_profile_free(read);
		return -1;
	}
	read->origin.source = mw_profile_intern(read, name);
	*profile = read;
	return 0;
}

int mw_read_profile_bytes(const char *name, const void *bytes, size_t length,
			  mw_profile_t **profile, mw_error_t *error) {
	char *copy = mw_xcalloc(length + 1, 1);
	memcpy(copy, bytes, length);
	int result = read_bytes(name, copy, length, profile, error);
	free(copy);
	return result;
}

static int read_state_file(int fd, const char *path, unsigned what, mw_profile_t **profile,
			   mw_error_t *error) {
	mw_snapshot_t *snapshot;
	if (mw_snapshot_read_fd(fd, path, what, &snapshot, error) != 0)
		return -1;
	*profile = mw_profile_from_snapshot(snapshot);
	(*profile)->origin.source = mw_profile_intern(*profile, path);
	mw_snapshot_free(snapshot);
	return 0;
}

static int read_any(const char *path, unsigned what, mw_profile_t **profile, mw_error_t *error) {
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return mw_error_set(error, "%s: cannot open: %s", path, strerror(errno));
	char magic[8];
	struct stat file;
	int result;
	if (fstat(fd, &file) == 0 && S_ISDIR(file.st_mode)) {
		result = mw_error_set(error, "%s: is a directory; name a profile in it", path);
	} else if (pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
		   mw_state_file_is_magic(magic, sizeof(magic))) {
		result = read_state_file(fd, path, what, profile, error);
	} else {
		size_t length;
		char *bytes = load(fd, path, &length, error);
		result = bytes != NULL ? read_bytes(path, bytes, length, profile, error) : -1;
		free(bytes);
	}
	close(fd);
	return result;
}

int mw_read_profile(const char *path, mw_profile_t **profile, mw_error_t *error) {
	return read_any(path, MW_SNAPSHOT_STACKS, profile, error);
}

int mw_read_profile_split(const char *path, bool is_running, mw_profile_t **profile,
			  mw_error_t *error) {
	unsigned what = MW_SNAPSHOT_STACKS | MW_SNAPSHOT_RECORDS | MW_SNAPSHOT_SURVEY;
	return read_any(path, what | (is_running ? MW_SNAPSHOT_OF_NOW : 0), profile, error);
}
