/* SPDX-License-Identifier: MIT
 * option_value.c -- numbers, ratios and lists of ranges, read as jemalloc reads them. */
#include <string.h>

#include "base/libc_text.h"
#include "config/option_row.h"

static bool is_digit(char c) {
	return c >= '0' && c <= '9';
}

static unsigned digit_of(char c) {
	return is_digit(c) ? (unsigned)(c - '0') : ((unsigned char)c | 0x20u) - 'a' + 10;
}

/* Reads an integer in decimal, octal after 0 or hexadecimal after 0x, with blanks and a sign before
 * it. A negative number is stored modulo 2^64. Returns NULL if there is no number or it needs more
 * than 64 bits. */
static const char *read_number(const char *cursor, const char *end, uint64_t *number) {
	static const char blanks[] = " \t\n\v\f\r";
	while (cursor < end && mw_memchr(blanks, *cursor, sizeof blanks - 1))
		cursor++;
	bool negative = cursor < end && *cursor == '-';
	cursor += negative || (cursor < end && *cursor == '+');
	unsigned base = 10;
	if (end - cursor > 2 && cursor[0] == '0' && (cursor[1] | 0x20) == 'x') {
		base = 16;
		cursor += 2;
	} else if (end - cursor > 1 && cursor[0] == '0') {
		base = 8;
	}
	const char *digits = cursor;
	uint64_t sum = 0;
	for (; cursor < end && digit_of(*cursor) < base; cursor++)
		if (__builtin_mul_overflow(sum, base, &sum) ||
		    __builtin_add_overflow(sum, digit_of(*cursor), &sum))
			return NULL;
	*number = negative ? -sum : sum;
	return cursor == digits ? NULL : cursor;
}

bool mw_option_read_number(mw_text_t value, bool suffixes, uint64_t *number) {
	const char *end = value.start + value.length;
	const char *cursor = read_number(value.start, end, number);
	if (!cursor)
		return false;
	if (suffixes && cursor < end) {
		static const char units[] = "kmgt";
		const char *unit = mw_memchr(units, *cursor | 0x20, sizeof units - 1);
		unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
		if (!unit || *number >> (63 - shift) != 0)
			return false;
		*number <<= shift;
		cursor++;
	}
	return cursor == end;
}

/* Accepts numbers below 65536 with a fraction. */
bool mw_option_is_ratio(mw_text_t value, bool up_to_one) {
	const char *cursor = value.start, *end = value.start + value.length;
	uint64_t whole = 0;
	for (; cursor < end && is_digit(*cursor); cursor++) {
		whole = whole * 10 + digit_of(*cursor);
		if (whole > UINT16_MAX)
			return false;
	}
	bool fraction = false;
	if (cursor < end && *cursor == '.') {
		const char *point = cursor++;
		for (; cursor < end && is_digit(*cursor); cursor++)
			fraction |= *cursor != '0';
		if (cursor == point + 1)
			return false;
	}
	return value.length > 0 && cursor == end &&
	       !(up_to_one && (whole > 1 || (whole == 1 && fraction)));
}

uint32_t mw_option_ratio(const char *text) {
	/* The first 14 digits and 16 fraction bits fit 64 bits. Further digits do not change the
	 * result. */
	enum { DIGITS = 14 };
	uint64_t whole = 0, fraction = 0, unit = 1;
	if (*text == '-')
		return MW_NO_RATIO;
	for (; is_digit(*text); text++)
		whole = whole * 10 + digit_of(*text);
	text += *text == '.';
	for (unsigned i = 0; i < DIGITS && is_digit(*text); i++, text++, unit *= 10)
		fraction = fraction * 10 + digit_of(*text);
	return (uint32_t)(whole << 16 | (fraction << 16) / unit);
}

/* Checks a list such as "8-128:4|160-256:2": each entry is a range of sizes and a number from 1 to
 * `most` (0: any number). */
bool mw_option_is_ranges(mw_text_t value, uint64_t most) {
	const char *cursor = value.start, *end = value.start + value.length;
	do {
		uint64_t number;
		cursor = read_number(cursor, end, &number);
		if (!cursor || cursor == end || *cursor != '-')
			return false;
		cursor = read_number(cursor + 1, end, &number);
		if (!cursor || cursor == end || *cursor != ':')
			return false;
		cursor = read_number(cursor + 1, end, &number);
		if (!cursor || (most && (number == 0 || number > most)))
			return false;
		cursor += cursor < end && *cursor == '|';
	} while (cursor < end);
	return true;
}
