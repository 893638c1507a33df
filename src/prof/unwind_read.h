/* SPDX-License-Identifier: MIT
 * unwind_read.h -- reads numbers of call frame information, never outside of given bounds.
 * Layer: prof.  Header only.  The bytes may be hostile: running past the end sets `is_bad`, gives 0
 * and stays there, so a caller checks once after a group of reads. */
#ifndef MW_PROF_UNWIND_READ_H
#define MW_PROF_UNWIND_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct mw_reader {
	const uint8_t *at;
	const uint8_t *end;
	bool is_bad;
} mw_reader_t;

static inline mw_reader_t mw_reader(const uint8_t *at, const uint8_t *end) {
	return (mw_reader_t){at, end, false};
}

static inline size_t mw_reader_left(const mw_reader_t *reader) {
	return (size_t)(reader->end - reader->at);
}

/* The next `bytes` bytes, or NULL. */
static inline const uint8_t *mw_read_bytes(mw_reader_t *reader, uint64_t bytes) {
	if (bytes > mw_reader_left(reader)) {
		reader->at = reader->end;
		reader->is_bad = true;
		return NULL;
	}
	const uint8_t *start = reader->at;
	reader->at += bytes;
	return start;
}

/* A little-endian number of 1 to 8 bytes. */
static inline uint64_t mw_read_number(mw_reader_t *reader, unsigned bytes) {
	uint64_t value = 0;
	const uint8_t *start = mw_read_bytes(reader, bytes);
	if (start)
		memcpy(&value, start, bytes);
	return value;
}

static inline uint8_t mw_read_u8(mw_reader_t *reader) {
	return (uint8_t)mw_read_number(reader, 1);
}

static inline uint32_t mw_read_u32(mw_reader_t *reader) {
	return (uint32_t)mw_read_number(reader, 4);
}

static inline uint64_t mw_sign_extend(uint64_t value, unsigned bits) {
	return bits < 64 && (value >> (bits - 1) & 1) ? value | ~(uint64_t)0 << bits : value;
}

/* LEB128; bits beyond the 64th are dropped, as nothing here is that large. */
static inline uint64_t mw_read_leb(mw_reader_t *reader, bool is_signed) {
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;
	do {
		byte = mw_read_u8(reader);
		if (shift < 64) {
			value |= (uint64_t)(byte & 0x7f) << shift;
			shift += 7;
		}
	} while (byte & 0x80);
	return is_signed ? mw_sign_extend(value, shift) : value;
}

static inline uint64_t mw_read_uleb(mw_reader_t *reader) {
	return mw_read_leb(reader, false);
}

static inline int64_t mw_read_sleb(mw_reader_t *reader) {
	return (int64_t)mw_read_leb(reader, true);
}

#endif
