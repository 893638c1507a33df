/* SPDX-License-Identifier: MIT
 * read.c -- loads a file, unpacks it, and chooses the reader by the first bytes. */
#include "formats/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/file/open_state_file.h"
#include "formats/file/state_header.h"
#include "formats/file/unpack.h"
#include "formats/proto/proto.h"
#include "formats/state/state_file.h"
#include "formats/text/text_formats.h"
#include "model/memory.h"

static const struct {
	bool (*is_it)(const char *bytes, size_t length);
	mw_read_bytes_t *read;
} readers[] = {
	{mw_is_heap_text, mw_read_heap_text},
	{mw_is_cpu, mw_read_cpu},
	{mw_is_contention, mw_read_contention},
	{mw_is_go_count, mw_read_go_count},
	{mw_is_allocation_log, mw_read_allocation_log},
	{mw_is_heaptrack, mw_read_heaptrack},
	{mw_is_massif, mw_read_massif},
	{mw_is_folded, mw_read_folded},
};

/* Reads an uncompressed format that contains no other format. */
static int read_single(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		       mw_error_t *error) {
	if (length == 0)
		return mw_error_set(error, "%s: is empty", name);
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
		if (readers[i].is_it(bytes, length))
			return readers[i].read(profile, name, bytes, length, error);
	return mw_read_proto(profile, name, bytes, length, error);
}

/* Returns how many bytes of a mark the file begins with, as editors and shells of other systems
 * write before text in UTF-8. */
static size_t mark_bytes(const char *bytes, size_t length) {
	return length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static bool is_utf16(const char *bytes, size_t length) {
	return length >= 2 &&
	       (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0);
}

/* Reads any uncompressed format. */
static int read_plain(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		      mw_error_t *error) {
	size_t mark = mark_bytes(bytes, length);
	bytes += mark;
	length -= mark;
	if (is_utf16(bytes, length))
		return mw_error_set(error,
				    "%s: is text in UTF-16; 'iconv -f UTF-16 -t UTF-8' makes what "
				    "mallow reads",
				    name);
	if (mw_is_symbolized(bytes, length))
		return mw_read_symbolized(profile, name, bytes, length, read_single, error);
	return read_single(profile, name, bytes, length, error);
}

/* Bytes that are read before the format is determined.  Lines of text formats are shorter. */
#define PREFIX_BYTES ((size_t)1 << 20)

/* True if a file that begins with `bytes` may be a profile. */
static bool may_be_profile(const char *bytes, size_t length) {
	size_t mark = mark_bytes(bytes, length);
	bytes += mark;
	length -= mark;
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
		if (readers[i].is_it(bytes, length))
			return true;
	return mw_is_symbolized(bytes, length) || mw_is_packed(bytes, length) ||
	       mw_may_be_proto(bytes, length);
}

/* Reads until `*bytes` holds `limit` bytes; a NUL follows them.  Returns 1 at the end of the
 * file. */
static int read_up_to(int fd, const char *name, size_t limit, char **bytes, size_t *capacity,
		      size_t *length, mw_error_t *error) {
	/* A pipe tells no size, so it is read in steps. */
	const size_t step = (64u << 10) + 1;
	while (*length < limit) {
		*bytes = mw_grow(*bytes, capacity, *length + step, 1);
		ssize_t got = read(fd, *bytes + *length, *capacity - *length - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return mw_error_set(error, "%s: cannot read: %s", name, strerror(errno));
		*length += (size_t)got;
		(*bytes)[*length] = '\0';
		if (got == 0)
			return 1;
	}
	return 0;
}

/* Returns the content of an open file and a NUL, or only the first part if the file is no
 * profile.  NULL: error. */
static char *load(int fd, const char *name, size_t *length, mw_error_t *error) {
	struct stat file;
	size_t capacity = 0;
	char *bytes = NULL;
	*length = 0;
	int result = read_up_to(fd, name, PREFIX_BYTES, &bytes, &capacity, length, error);
	if (result == 0 && !may_be_profile(bytes, *length))
		result = 1;
	if (result == 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
	    (uint64_t)file.st_size > *length && (uint64_t)file.st_size <= MW_READ_BYTES_MAX) {
		/* Allocates the whole size at once: doubling would leave up to half unused. */
		capacity = (size_t)file.st_size + (128u << 10);
		bytes = mw_xrealloc(bytes, capacity, 1);
	}
	if (result == 0)
		result = read_up_to(fd, name, MW_READ_BYTES_MAX, &bytes, &capacity, length, error);
	if (result == 0)
		mw_error_set(error, "%s: is larger than 2 GiB, the limit for a profile", name);
	if (result == 1)
		return bytes;
	free(bytes);
	return NULL;
}

/* `bytes` is followed by a NUL. */
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
		result = read_plain(read, name, bytes, length, error);
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
	mw_memory_limit_begin(name);
	char *copy = mw_xcalloc(length + 1, 1);
	memcpy(copy, bytes, length);
	int result = read_bytes(name, copy, length, profile, error);
	free(copy);
	mw_memory_limit_end();
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

static int read_open(int fd, const char *path, unsigned what, mw_profile_t **profile,
		     mw_error_t *error) {
	char magic[8];
	struct stat file;
	int result;
	if (fstat(fd, &file) == 0 && S_ISDIR(file.st_mode)) {
		result = mw_error_set(error, "%s: is a directory; give a profile in it", path);
	} else if (pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
		   mw_state_file_is_magic(magic, sizeof(magic))) {
		result = read_state_file(fd, path, what, profile, error);
	} else {
		size_t length;
		char *bytes = load(fd, path, &length, error);
		result = bytes != NULL ? read_bytes(path, bytes, length, profile, error) : -1;
		free(bytes);
	}
	return result;
}

static int read_any(const char *path, unsigned what, mw_profile_t **profile, mw_error_t *error) {
	int fd = mw_open_file(path, O_RDONLY);
	if (fd < 0 && errno == ENXIO)
		return mw_error_set(error, "%s: is a pipe or a device; give a file", path);
	if (fd < 0)
		return mw_error_set(error, "%s: cannot open: %s", path, strerror(errno));
	mw_memory_limit_begin(path);
	int result = read_open(fd, path, what, profile, error);
	mw_memory_limit_end();
	close(fd);
	return result;
}

int mw_read_profile(const char *path, mw_profile_t **profile, mw_error_t *error) {
	return read_any(path, MW_SNAPSHOT_STACKS, profile, error);
}

int mw_read_profile_split(const char *path, bool is_running, mw_profile_t **profile,
			  mw_error_t *error) {
	unsigned what = MW_SNAPSHOT_STACKS | MW_SNAPSHOT_RECORDS | MW_SNAPSHOT_HEAP_WALK |
			MW_SNAPSHOT_HISTORY;
	return read_any(path, what | (is_running ? MW_SNAPSHOT_OF_NOW : 0), profile, error);
}
