/* SPDX-License-Identifier: MIT
 * read.c -- loads a file, unpacks it, and picks the reader by the first bytes. */
#include "read/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "model/alloc.h"
#include "read/formats.h"
#include "read/state_file.h"

/* Files above this are refused: a profile of a million stacks has some 100 MiB. */
#define FILE_BYTES_MAX ((size_t)2 << 30)
/* What gzip may unfold to: profiles shrink 3 to 20 times, a bomb 1000 times.  An entry in memory
 * takes up to 25 times its bytes in the file, so a small file stays below half a GiB. */
#define UNPACKED_BYTES_MIN ((size_t)16 << 20)
#define UNPACKED_RATIO_MAX 50

/* The content of an open file and a NUL behind it; NULL: error. */
static char *load(int fd, const char *name, size_t *length, mw_error_t *error) {
	size_t capacity = 0;
	char *bytes = NULL;
	*length = 0;
	for (;;) {
		/* 64 KiB and one for the NUL; pipes have no size to ask for. */
		bytes = mw_grow(bytes, &capacity, *length + (64u << 10) + 1, 1);
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
		if (*length > FILE_BYTES_MAX) {
			mw_error_set(error, "%s: is larger than 2 GiB, too much for a profile",
				     name);
			break;
		}
	}
	free(bytes);
	return NULL;
}

static bool is_gzip(const void *bytes, size_t length) {
	const unsigned char *b = bytes;
	return length >= 2 && b[0] == 0x1f && b[1] == 0x8b;
}

/* Unpacks gzip into memory of its own, with a NUL behind it; NULL: error. */
static char *unpack(const char *name, const void *bytes, size_t length, size_t *unpacked,
		    mw_error_t *error) {
	size_t limit = UNPACKED_BYTES_MIN, capacity = 0;
	if (length > UNPACKED_BYTES_MIN / UNPACKED_RATIO_MAX)
		limit = length < FILE_BYTES_MAX / UNPACKED_RATIO_MAX ? length * UNPACKED_RATIO_MAX
								     : FILE_BYTES_MAX;
	z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)length};
	/* 15 window bits, and 16: gzip's header and checksum. */
	if (inflateInit2(&stream, 15 + 16) != Z_OK) {
		mw_error_set(error, "%s: cannot unpack: no memory", name);
		return NULL;
	}
	char *out = NULL;
	int result = Z_OK;
	*unpacked = 0;
	do {
		out = mw_grow(out, &capacity, *unpacked + (64u << 10) + 1, 1);
		size_t room = capacity - *unpacked - 1;
		stream.next_out = (Bytef *)out + *unpacked;
		stream.avail_out = room < ((uInt)1 << 30) ? (uInt)room : (uInt)1 << 30;
		uInt before = stream.avail_out;
		result = inflate(&stream, Z_NO_FLUSH);
		*unpacked += before - stream.avail_out;
		/* gzip files may be put one behind the other. */
		if (result == Z_STREAM_END && stream.avail_in > 0 &&
		    is_gzip(stream.next_in, stream.avail_in))
			result = inflateReset(&stream);
	} while (result == Z_OK && *unpacked <= limit);
	inflateEnd(&stream);
	if (result == Z_STREAM_END && *unpacked <= limit) {
		out[*unpacked] = '\0';
		return out;
	}
	if (*unpacked > limit)
		mw_error_set(error,
			     "%s: unpacks to more than %zu MiB, which no profile of its size does; "
			     "it is refused",
			     name, limit >> 20);
	else
		mw_error_set(error, "%s: %s", name,
			     result == Z_BUF_ERROR
				     ? "ends in the middle of the compressed data; it was "
				       "cut short"
				     : "its compressed data is damaged");
	free(out);
	return NULL;
}

static int read_plain(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		      mw_error_t *error) {
	if (length == 0)
		return mw_error_set(error, "%s: is empty", name);
	if (mw_is_heap_text(bytes, length))
		return mw_read_heap_text(profile, name, bytes, length, error);
	return mw_read_proto(profile, name, (const unsigned char *)bytes, length, error);
}

/* `bytes` has a NUL behind it. */
static int read_bytes(const char *name, const char *bytes, size_t length, mw_profile_t **profile,
		      mw_error_t *error) {
	mw_profile_t *read = mw_profile_new();
	char *unpacked = NULL;
	int result = 0;
	if (is_gzip(bytes, length)) {
		unpacked = unpack(name, bytes, length, &length, error);
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

int mw_read_profile_split(const char *path, mw_profile_t **profile, mw_error_t *error) {
	return read_any(path, MW_SNAPSHOT_STACKS | MW_SNAPSHOT_RECORDS | MW_SNAPSHOT_SURVEY,
			profile, error);
}
