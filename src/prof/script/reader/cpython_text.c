/* SPDX-License-Identifier: MIT
 * cpython_text.c -- decodes strings (PEP 393) and tables of lines: those of 3.9 and before
 * (Objects/lnotab_notes.txt of CPython), PEP 626's of 3.10, and PEP 657's since. */
#include "prof/script/reader/cpython_text.h"

#include <stddef.h>

/* A function of a million lines has a table that long. */
#define TABLE_BYTES_MAX ((size_t)1 << 20)
/* Stands for code that belongs to no line. */
#define NO_LINE INT64_MIN

/* ---- strings ---- */

/* Bit fields of a string's state. Since 3.14 they begin at another bit. */
typedef struct form {
	unsigned width; /* bytes of a character: 1, 2 or 4 */
	bool is_ascii, is_compact;
} form_t;

static form_t form_of(uint32_t bits) {
	return (form_t){.width = bits & 7,
			.is_compact = (bits >> 3 & 1) != 0,
			.is_ascii = (bits >> 4 & 1) != 0};
}

static bool is_form(form_t form) {
	return form.is_compact && (form.width == 1 || form.width == 2 || form.width == 4);
}

static uint32_t character_at(uintptr_t data, unsigned width, size_t number) {
	if (width == 1)
		return ((const uint8_t *)data)[number];
	return width == 2 ? ((const uint16_t *)data)[number] : ((const uint32_t *)data)[number];
}

void mw_cpython_read_text(mw_script_memory_t *memory, const mw_cpython_layout_t *layout,
			  uintptr_t string, mw_script_text_t *text) {
	uint32_t state = mw_script_word32(string + MW_CPYTHON_STATE);
	size_t length = mw_script_word(string + MW_CPYTHON_LENGTH);
	form_t form = form_of(state >> 2);
	text->bytes = 0;
	if (!is_form(form))
		form = form_of(state >> 16);
	if (length > sizeof text->text)
		length = sizeof text->text;
	uintptr_t data = string + (form.is_ascii ? layout->ascii : layout->wide);
	if (!is_form(form) || length == 0 ||
	    !mw_script_is_readable(memory, data, length * form.width))
		return;
	for (size_t i = 0; i < length; i++) {
		uint32_t c = character_at(data, form.width, i);
		if (!mw_script_put_character(text, c))
			return;
	}
}

/* ---- lines ---- */

typedef struct table {
	const uint8_t *at, *end;
} table_t;

static uint8_t take(table_t *table) {
	return table->at < table->end ? *table->at++ : 0;
}

static void skip(table_t *table, unsigned bytes) {
	while (bytes-- > 0)
		take(table);
}

/* Pairs of bytes: how far the code goes on, and how many lines; before them. */
static int64_t line_by_lnotab(table_t table, int64_t line, int64_t position) {
	int64_t code = 0;
	while (table.at < table.end) {
		code += take(&table);
		if (code > position)
			break;
		line += (int8_t)take(&table);
	}
	return line;
}

/* Pairs of bytes: how many bytes of code, and how many lines further they are; -128: in none. */
static int64_t line_by_linetable(table_t table, int64_t line, int64_t position) {
	int64_t code = 0, here = line;
	while (table.at < table.end && code <= position) {
		code += take(&table);
		int8_t more = (int8_t)take(&table);
		here = more == -128 ? NO_LINE : (line += more);
	}
	return here;
}

/* Six bits a byte, lowest first; bit 6: more follow. */
static uint32_t take_number(table_t *table) {
	uint32_t number = 0;
	for (unsigned shift = 0;; shift += 6) {
		uint8_t byte = take(table);
		if (shift < 30)
			number |= (uint32_t)(byte & 63) << shift;
		if (!(byte & 64))
			return number;
	}
}

/* The lowest bit is the sign. */
static int64_t take_signed(table_t *table) {
	int64_t number = take_number(table);
	return number & 1 ? -(number >> 1) : number >> 1;
}

/* Kinds of entries of a table of locations: bits 6..3 of their first byte. Bits 2..0: units of
 * code, less 1. */
enum { SHORT_LAST = 9, ONE_LINE_FIRST = 10, ONE_LINE_LAST = 12, NO_COLUMNS = 13, LONG = 14 };

static int64_t line_by_locations(table_t table, int64_t line, int64_t position) {
	int64_t code = 0, here = line;
	while (table.at < table.end && code <= position) {
		uint8_t first = take(&table);
		unsigned kind = first >> 3 & 15;
		code += (first & 7) + 1;
		if (kind <= SHORT_LAST) {
			skip(&table, 1);
		} else if (kind <= ONE_LINE_LAST) {
			line += kind - ONE_LINE_FIRST;
			skip(&table, 2);
		} else if (kind <= LONG) {
			line += take_signed(&table);
			for (unsigned i = 0; kind == LONG && i < 3; i++)
				take_number(&table);
		}
		here = kind <= LONG ? line : NO_LINE;
	}
	return here;
}

uint32_t mw_cpython_line(mw_script_memory_t *memory, const mw_cpython_layout_t *layout,
			 uintptr_t table, uint32_t first_line, int64_t position) {
	int64_t line = first_line;
	if (!mw_script_is_readable(memory, table, MW_CPYTHON_BYTES_DATA))
		return 0;
	size_t bytes = mw_script_word(table + MW_CPYTHON_LENGTH);
	const uint8_t *data = (const uint8_t *)(table + MW_CPYTHON_BYTES_DATA);
	if (bytes == 0 || position < 0)
		return first_line;
	if (bytes > TABLE_BYTES_MAX || !mw_script_is_readable(memory, (uintptr_t)data, bytes))
		return 0;
	const table_t all = {.at = data, .end = data + bytes};
	if (layout->lines == MW_CPYTHON_LNOTAB)
		line = line_by_lnotab(all, line, position);
	else if (layout->lines == MW_CPYTHON_LINETABLE)
		line = line_by_linetable(all, line, 2 * position);
	else
		line = line_by_locations(all, line, position);
	return line > 0 && line <= MW_SCRIPT_LINE_MAX ? (uint32_t)line : 0;
}
