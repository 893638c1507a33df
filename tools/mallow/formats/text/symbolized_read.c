/* SPDX-License-Identifier: MIT
 * symbolized_read.c -- reads "--- symbol": a table of names, then a profile of another format.
 * The table has a line "binary=PATH" and lines "0xADDRESS name", in which "--" separates inlined
 * functions, innermost last.  The line "---" ends it.  Then follow "--- KIND" and the bytes of
 * the profile. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/lines.h"
#include "formats/text/text_formats.h"
#include "model/memory.h"
#include "model/table.h"

typedef struct symbol {
	uint64_t address; /* address in the file: a return address, or 1 less */
	const char *name; /* ends with the line */
	size_t length;
} symbol_t;

typedef struct symbols {
	symbol_t *entries; /* entries[0] is unused */
	size_t count, capacity;
	mw_table_t by_address;
} symbols_t;

bool mw_is_symbolized(const char *bytes, size_t length) {
	(void)length; /* The NUL at the end stops the comparison. */
	return mw_starts_with(bytes, "--- symbol");
}

static bool symbol_equal(const void *context, uint32_t entry, const void *key) {
	return ((const symbol_t *)context)[entry].address == *(const uint64_t *)key;
}

static const symbol_t *find_symbol(const symbols_t *s, uint64_t address) {
	uint32_t found = mw_table_find(&s->by_address, mw_table_hash(&address, sizeof(address)),
				       symbol_equal, s->entries, &address);
	return found != 0 ? &s->entries[found] : NULL;
}

static int take_symbol(mw_lines_t *r, symbols_t *s, const char *line) {
	char *at;
	errno = 0;
	symbol_t symbol = {.address = strtoull(line, &at, 16)};
	if (at == line || errno != 0)
		return mw_lines_damaged(r, "this is not an address followed by a name");
	if (s->count == MW_READ_ENTRIES_MAX)
		return mw_lines_damaged(r, "it has more symbols than any profile has");
	symbol.name = mw_skip_blanks(at);
	symbol.length = strcspn(symbol.name, "\r\n");
	if (find_symbol(s, symbol.address) != NULL)
		return 0;
	s->entries = mw_grow(s->entries, &s->capacity, s->count + 1, sizeof(symbol_t));
	s->entries[s->count] = symbol;
	mw_table_add(&s->by_address, mw_table_hash(&symbol.address, sizeof(symbol.address)),
		     (uint32_t)s->count++);
	return 0;
}

/* Reads the table.  The next line is then the first line of the profile. */
static int take_symbols(mw_lines_t *r, symbols_t *s, const char **binary, size_t *binary_length) {
	mw_lines_next(r);
	for (const char *line; (line = mw_lines_next(r)) != NULL;) {
		line = mw_skip_blanks(line);
		if (mw_starts_with(line, "binary=")) {
			*binary = line + strlen("binary=");
			*binary_length = strcspn(*binary, "\r\n");
		} else if (mw_starts_with(line, "--- ")) {
			return 0;
		} else if (!mw_starts_with(line, "---") && *line != '\n') {
			if (take_symbol(r, s, line) != 0)
				return -1;
		}
	}
	return mw_lines_damaged(r, "it ends before the profile; it was cut short");
}

/* Length of the name without "<address>", which jeprof appends to tell functions of equal names
 * apart. */
static size_t name_length(const char *name, size_t length) {
	size_t digits = length > 2 && name[length - 1] == '>' ? length - 1 : 0;
	while (digits > 1 && isxdigit((unsigned char)name[digits - 1]))
		digits--;
	bool has_address = digits > 1 && digits + 8 < length && name[digits - 1] == '<';
	return has_address ? digits - 1 : length;
}

/* Most functions inlined into each other. */
#define INLINE_MAX 64

static void set_names(mw_profile_t *p, uint32_t location, const symbol_t *symbol) {
	/* Filled from the end, so that the innermost function comes first. */
	mw_line_t lines[INLINE_MAX];
	size_t first = INLINE_MAX;
	const char *at = symbol->name, *end = symbol->name + symbol->length;
	while (at < end && first > 0) {
		const char *next = memmem(at, (size_t)(end - at), "--", 2);
		size_t length = name_length(at, (size_t)((next != NULL ? next : end) - at));
		mw_function_t function = {.name = mw_profile_intern_bytes(p, at, length)};
		function.system_name = function.name;
		lines[--first] = (mw_line_t){.function = mw_profile_add_function(p, &function)};
		at = next != NULL ? next + 2 : end;
	}
	mw_profile_set_lines(p, location, lines + first, INLINE_MAX - first);
}

/* Names the locations of the profile that follows the table. */
static void name_locations(mw_profile_t *p, const symbols_t *s) {
	for (size_t i = 1; i < p->location_count; i++) {
		uint64_t address = p->locations[i].address;
		const symbol_t *symbol = find_symbol(s, address);
		if (symbol == NULL && !p->locations[i].is_exact)
			symbol = find_symbol(s, address + 1);
		/* A name that is an address is no name. */
		if (symbol != NULL && !mw_starts_with(symbol->name, "0x"))
			set_names(p, (uint32_t)i, symbol);
	}
}

int mw_read_symbolized(mw_profile_t *p, const char *name, const char *bytes, size_t length,
		       mw_read_bytes_t *read_rest, mw_error_t *error) {
	mw_lines_t r = mw_lines_of(p, name, bytes, length, error);
	symbols_t s = {.count = 1};
	s.entries = mw_grow(NULL, &s.capacity, 1, sizeof(symbol_t));
	const char *binary = NULL;
	size_t binary_length = 0;
	int result = take_symbols(&r, &s, &binary, &binary_length);
	if (result == 0 && mw_is_symbolized(r.at, (size_t)(r.end - r.at)))
		result = mw_lines_damaged(&r, "a table of symbols follows another");
	if (result == 0)
		result = read_rest(p, name, r.at, (size_t)(r.end - r.at), error);
	if (result == 0) {
		name_locations(p, &s);
		const char *slash = binary != NULL ? memrchr(binary, '/', binary_length) : NULL;
		const char *base = slash != NULL ? slash + 1 : binary;
		if (binary != NULL && p->origin.program == 0)
			p->origin.program = mw_profile_intern_bytes(
				p, base, (size_t)(binary + binary_length - base));
	}
	mw_table_clear(&s.by_address);
	free(s.entries);
	return result;
}
