/* SPDX-License-Identifier: MIT
 * unpack.c -- one loop that unpacks by zlib or libzstd. */
#include "formats/file/unpack.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "model/memory.h"

/* A file may always unpack to this size.  Profiles compress 3 to 20 times, a decompression bomb
 * 1000 times.  An entry takes up to 25 times its file size in memory, so a small file takes less
 * than half a GiB. */
#define UNPACKED_BYTES_MIN ((size_t)16 << 20)
#define UNPACKED_RATIO_MAX 50
/* 128 MiB: the largest window that libzstd accepts by default when it unpacks a stream. */
#define ZSTD_WINDOW_LOG_MAX 27
#define PIECE_BYTES ((size_t)64 << 10)

typedef enum progress { MORE, DONE, CUT_SHORT, DAMAGED } progress_t;

/* A compressed stream, gzip or zstd. */
typedef struct stream {
	z_stream zlib;
	ZSTD_DCtx *zstd; /* NULL: the stream is gzip */
	ZSTD_inBuffer in;
} stream_t;

static bool is_gzip(const void *bytes, size_t length) {
	const unsigned char *b = bytes;
	return length >= 2 && b[0] == 0x1f && b[1] == 0x8b;
}

static bool is_zstd(const void *bytes, size_t length) {
	static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd};
	return length >= sizeof(magic) && memcmp(bytes, magic, sizeof(magic)) == 0;
}

bool mw_is_packed(const char *bytes, size_t length) {
	return is_gzip(bytes, length) || is_zstd(bytes, length);
}

static bool begin(stream_t *s, const char *bytes, size_t length) {
	*s = (stream_t){.zlib = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)length},
			.in = {.src = bytes, .size = length}};
	if (is_zstd(bytes, length)) {
		s->zstd = ZSTD_createDCtx();
		return s->zstd != NULL &&
		       !ZSTD_isError(ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax,
							    ZSTD_WINDOW_LOG_MAX));
	}
	/* 15 window bits, plus 16 for gzip's header and checksum. */
	return inflateInit2(&s->zlib, 15 + 16) == Z_OK;
}

static void end(stream_t *s) {
	if (s->zstd != NULL)
		ZSTD_freeDCtx(s->zstd);
	else
		inflateEnd(&s->zlib);
}

static progress_t inflate_some(z_stream *z, char *out, size_t room, size_t *written) {
	z->next_out = (Bytef *)out;
	z->avail_out = room < INT_MAX ? (uInt)room : INT_MAX;
	uInt before = z->avail_out;
	int result = inflate(z, Z_NO_FLUSH);
	*written = before - z->avail_out;
	/* A gzip file may consist of several gzip streams. */
	if (result == Z_STREAM_END && z->avail_in > 0 && is_gzip(z->next_in, z->avail_in))
		result = inflateReset(z);
	return result == Z_OK           ? MORE
	       : result == Z_STREAM_END ? DONE
	       : result == Z_BUF_ERROR  ? CUT_SHORT
					: DAMAGED;
}

static progress_t decode_some(stream_t *s, char *out, size_t room, size_t *written) {
	if (s->zstd == NULL)
		return inflate_some(&s->zlib, out, room, written);
	ZSTD_outBuffer to = {.dst = out, .size = room};
	size_t result = ZSTD_decompressStream(s->zstd, &to, &s->in);
	*written = to.pos;
	if (ZSTD_isError(result))
		return DAMAGED;
	bool all_in = s->in.pos == s->in.size;
	if (result == 0 && all_in)
		return DONE;
	return all_in && to.pos < to.size ? CUT_SHORT : MORE;
}

static size_t limit_of(size_t length) {
	if (length <= UNPACKED_BYTES_MIN / UNPACKED_RATIO_MAX)
		return UNPACKED_BYTES_MIN;
	return length < MW_READ_BYTES_MAX / UNPACKED_RATIO_MAX ? length * UNPACKED_RATIO_MAX
							       : MW_READ_BYTES_MAX;
}

static void explain(mw_error_t *error, const char *name, progress_t progress, size_t limit) {
	if (progress == MORE || progress == DONE)
		mw_error_set(error,
			     "%s: unpacks to more than %zu MiB, which no real profile of its size "
			     "does; mallow does not read it",
			     name, limit >> 20);
	else
		mw_error_set(error, "%s: %s", name,
			     progress == CUT_SHORT
				     ? "ends in the middle of the compressed data; it was "
				       "cut short"
				     : "its compressed data is damaged");
}

char *mw_unpack(const char *name, const char *bytes, size_t length, size_t *unpacked,
		mw_error_t *error) {
	size_t limit = limit_of(length), capacity = 0;
	*unpacked = 0;
	stream_t stream;
	if (!begin(&stream, bytes, length)) {
		end(&stream);
		mw_error_set(error, "%s: cannot unpack: out of memory; try a smaller profile",
			     name);
		return NULL;
	}
	char *out = NULL;
	progress_t progress;
	do {
		out = mw_grow(out, &capacity, *unpacked + PIECE_BYTES + 1, 1);
		size_t written;
		progress =
			decode_some(&stream, out + *unpacked, capacity - *unpacked - 1, &written);
		*unpacked += written;
	} while (progress == MORE && *unpacked <= limit);
	end(&stream);
	if (progress == DONE && *unpacked <= limit) {
		out[*unpacked] = '\0';
		return out;
	}
	explain(error, name, progress, limit);
	free(out);
	return NULL;
}
