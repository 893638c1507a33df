/* SPDX-License-Identifier: MIT
 * cfi_read.h -- reads numbers of call frame information within given bounds.
 * Layer: prof/unwind/cfi. The bytes are not trusted. A read past the end sets `is_bad` and returns
 * 0, and so do all later reads, so that a caller checks once after several reads. */
#ifndef MW_PROF_UNWIND_CFI_READ_H
#define MW_PROF_UNWIND_CFI_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bits.h"
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

/* Returns the next `bytes` bytes, or NULL. */
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

/* Reads a little-endian number of 1 to 8 bytes. Inline, so that a constant size becomes one
 * load. */
MW_ALWAYS_INLINE uint64_t mw_read_number(mw_reader_t *reader, unsigned bytes) {
	uint64_t value = 0;
	const uint8_t *start = mw_read_bytes(reader, bytes);
	if (!start)
		return 0;
	if (__builtin_constant_p(bytes))
		memcpy(&value, start, bytes);
	else
		mw_bytes_copy(&value, start, bytes);
	return value;
}

/* Like mw_read_number(), but not inline, for rare reads. */
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

/* Reads LEB128. Bits beyond the 64th are dropped; no valid number is that large. */
uint64_t mw_read_leb(mw_reader_t *reader, bool is_signed);

/* Nearly all numbers have one byte. */
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
