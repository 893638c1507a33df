/* SPDX-License-Identifier: MIT
 * kernel.c -- reads the table of symbols once, if the profile has a location of the kernel. */
#include "symbol/kernel.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "model/text.h"

#define TABLE "/proc/kallsyms"

typedef struct symbol {
	uint64_t address;
	size_t name; /* index in symbols_t.text */
} symbol_t;

typedef struct symbols {
	symbol_t *all;
	size_t count, capacity;
	char *text; /* their names, each with a 0 behind it */
	size_t text_bytes, text_capacity;
} symbols_t;

static bool is_unnamed(const mw_location_t *location) {
	return location->address >= MW_KERNEL_START && location->line_count == 0;
}

static bool has_unnamed(const mw_profile_t *p) {
	for (size_t i = 1; i < p->location_count; i++)
		if (is_unnamed(&p->locations[i]))
			return true;
	return false;
}

static int compare(const void *left, const void *right) {
	uint64_t a = ((const symbol_t *)left)->address, b = ((const symbol_t *)right)->address;
	return a < b ? -1 : a > b;
}

/* Reads "ffffffff81000000 T name", perhaps with "\t[module]" behind it. */
static void add_line(symbols_t *symbols, char *line) {
	char *end, *name;
	uint64_t address = strtoull(line, &end, 16);
	if (address < MW_KERNEL_START || end[0] != ' ' || end[1] == '\0' || end[2] != ' ')
		return;
	name = end + 3;
	name[strcspn(name, "\t\n")] = '\0';
	mw_text_clean(name, "");
	symbols->all = mw_grow(symbols->all, &symbols->capacity, symbols->count + 1,
			       sizeof(*symbols->all));
	symbols->all[symbols->count++] = (symbol_t){address, symbols->text_bytes};
	size_t bytes = strlen(name) + 1;
	symbols->text =
		mw_grow(symbols->text, &symbols->text_capacity, symbols->text_bytes + bytes, 1);
	memcpy(symbols->text + symbols->text_bytes, name, bytes);
	symbols->text_bytes += bytes;
}

/* Returns the last symbol at or below the address; NULL: there is none. */
static const symbol_t *find(const symbols_t *symbols, uint64_t address) {
	size_t low = 0, high = symbols->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (symbols->all[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? &symbols->all[low - 1] : NULL;
}

void mw_kernel_symbolize(mw_profile_t *p) {
	FILE *file = has_unnamed(p) ? fopen(TABLE, "re") : NULL;
	symbols_t symbols = {.all = NULL};
	char line[512];
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		add_line(&symbols, line);
	if (file != NULL)
		fclose(file);
	if (symbols.count > 0)
		qsort(symbols.all, symbols.count, sizeof(*symbols.all), compare);
	for (uint32_t i = 1; i < p->location_count; i++) {
		const symbol_t *symbol = is_unnamed(&p->locations[i])
						 ? find(&symbols, p->locations[i].address)
						 : NULL;
		if (symbol == NULL)
			continue;
		/* A profile has the names of its own locations only: the table has 100,000. */
		mw_string_t name = mw_profile_intern(p, symbols.text + symbol->name);
		mw_function_t function = {.name = name, .system_name = name};
		mw_line_t named = {.function = mw_profile_add_function(p, &function)};
		mw_profile_set_lines(p, i, &named, 1);
	}
	free(symbols.all);
	free(symbols.text);
}

bool mw_kernel_has_names(void) {
	FILE *file = fopen(TABLE, "re");
	char line[512];
	uint64_t any = 0;
	for (int i = 0; i < 100 && file != NULL && fgets(line, sizeof(line), file) != NULL; i++)
		any |= strtoull(line, NULL, 16);
	if (file != NULL)
		fclose(file);
	return any >= MW_KERNEL_START;
}
