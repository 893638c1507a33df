/* SPDX-License-Identifier: MIT
 * cfi_read.c -- reads numbers of rare forms. */
#include "prof/unwind/cfi/cfi_read.h"

uint64_t mw_read_leb(mw_reader_t *reader, bool is_signed) {
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

uint64_t mw_read_sized(mw_reader_t *reader, unsigned bytes) {
	return mw_read_number(reader, bytes);
}
