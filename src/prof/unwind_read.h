/* SPDX-License-Identifier: MIT
 * unwind_read.h -- reads numbers of call frame information, never outside of given bounds.
 * Layer: prof.  The bytes may be hostile: running past the end sets `is_bad`, gives 0
 * and stays there, so a caller checks once after a group of reads. */
#ifndef MW_PROF_UNWIND_READ_H
#define MW_PROF_UNWIND_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

typedef struct mw_reader {
	const uint8_t *at;
	const uint8_t *end;
	bool is_bad;
} mw_reader_t;

static inline mw_reader_t mw_reader(const uint8_t *at, const uint8_t *end) {
	return (mw_reader_t){at, end, false};
}

MW_ALWAYS_INLINE size_t mw_reader_left(const mw_reader_t *reader) {
	return (size_t)(reader->end - reader->at);
}

/* The next `bytes` bytes, or NULL. */
MW_ALWAYS_INLINE const uint8_t *mw_read_bytes(mw_reader_t *reader, uint64_t bytes) {
	if (bytes > mw_reader_left(reader)) {
		reader->at = reader->end;
		reader->is_bad = true;
		return NULL;
	}
	const uint8_t *start = reader->at;
	reader->at += bytes;
	return start;
}

/* A little-endian number of 1 to 8 bytes; inline, so that of a number known beforehand one load is
 * left. */
MW_ALWAYS_INLINE uint64_t mw_read_number(mw_reader_t *reader, unsigned bytes) {
	uint64_t value = 0;
	const uint8_t *start = mw_read_bytes(reader, bytes);
	if (start)
		memcpy(&value, start, bytes);
	return value;
}

/* The same as a call, for what is seldom read. */
uint64_t mw_read_sized(mw_reader_t *reader, unsigned bytes);

MW_ALWAYS_INLINE uint8_t mw_read_u8(mw_reader_t *reader) {
	if (MW_UNLIKELY(reader->at == reader->end)) {
		reader->is_bad = true;
		return 0;
	}
	return *reader->at++;
}

MW_ALWAYS_INLINE uint32_t mw_read_u32(mw_reader_t *reader) {
	return (uint32_t)mw_read_number(reader, 4);
}

static inline uint64_t mw_sign_extend(uint64_t value, unsigned bits) {
	return bits < 64 && (value >> (bits - 1) & 1) ? value | ~(uint64_t)0 << bits : value;
}

/* LEB128; bits beyond the 64th are dropped, as nothing here is that large. */
uint64_t mw_read_leb(mw_reader_t *reader, bool is_signed);

/* Nearly all are of one byte. */
MW_ALWAYS_INLINE uint64_t mw_read_uleb(mw_reader_t *reader) {
	if (MW_LIKELY(reader->at != reader->end && *reader->at < 0x80))
		return *reader->at++;
	return mw_read_leb(reader, false);
}

MW_ALWAYS_INLINE int64_t mw_read_sleb(mw_reader_t *reader) {
	if (MW_LIKELY(reader->at != reader->end && *reader->at < 0x80))
		return (int64_t)mw_sign_extend(*reader->at++, 7);
	return (int64_t)mw_read_leb(reader, true);
}

#endif
