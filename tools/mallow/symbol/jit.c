/* SPDX-License-Identifier: MIT
 * jit.c -- reads a file once.  A later piece of code replaces an earlier one, because it is newer.
 * Pieces may overlap in any way: a tree over the locations, in the order of addresses, keeps for
 * each range the last piece that covers it. */
#include "symbol/jit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "symbol/jit_find.h"
#include "symbol/jit_name.h"
#include "symbol/jit_read.h"

/* Locations that are in no file, ordered by address. */
typedef struct places {
	uint32_t *locations;
	size_t count;
	/* Node i of the tree is the parent of nodes 2i and 2i+1; node count+k is location k. Its
	 * value is where the last piece of code that covers the whole node is in the file, plus 1;
	 * 0 = none does. */
	uint64_t *covers;
} places_t;

static int compare_addresses(const void *a, const void *b, void *context) {
	const mw_location_t *locations = context;
	uint64_t x = locations[*(const uint32_t *)a].address;
	uint64_t y = locations[*(const uint32_t *)b].address;
	return x < y ? -1 : x > y;
}

static bool is_place(const mw_profile_t *p, const mw_location_t *l) {
	const char *path = mw_profile_string(p, p->mappings[l->mapping].path);
	/* perf's own files call memory without a file "//anon". */
	return l->line_count == 0 && l->address != 0 && (path[0] != '/' || path[1] == '/');
}

static bool has_places(const mw_profile_t *p) {
	for (size_t i = 1; i < p->location_count; i++)
		if (is_place(p, &p->locations[i]))
			return true;
	return false;
}

static places_t find_places(const mw_profile_t *p) {
	places_t places = {.locations = mw_xcalloc(p->location_count, sizeof(uint32_t))};
	for (size_t i = 1; i < p->location_count; i++)
		if (is_place(p, &p->locations[i]))
			places.locations[places.count++] = (uint32_t)i;
	qsort_r(places.locations, places.count, sizeof(uint32_t), compare_addresses, p->locations);
	places.covers = mw_xcalloc(places.count + 1, 2 * sizeof(uint64_t));
	return places;
}

/* Returns the index of the first location at or above the address. */
static size_t lower_bound(const mw_profile_t *p, const places_t *places, uint64_t address) {
	size_t lo = 0, hi = places->count;
	while (lo < hi) {
		size_t middle = lo + (hi - lo) / 2;
		if (p->locations[places->locations[middle]].address < address)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo;
}

/* The code at `offset` of the file covers the locations in [start, start + bytes). Code comes in
 * the order of the file, so that a node's value only grows. */
static void cover(const mw_profile_t *p, const places_t *places, uint64_t start, uint64_t bytes,
		  off_t offset) {
	size_t first = lower_bound(p, places, start) + places->count;
	size_t limit = lower_bound(p, places, start + bytes) + places->count;
	for (; first < limit; first /= 2, limit /= 2) {
		if (first % 2 == 1)
			places->covers[first++] = (uint64_t)offset + 1;
		if (limit % 2 == 1)
			places->covers[--limit] = (uint64_t)offset + 1;
	}
}

/* Returns where the last code that has location number `k` is in the file, plus 1; 0 = none has. */
static uint64_t last_cover(const places_t *places, size_t k) {
	uint64_t last = 0;
	for (size_t node = k + places->count; node > 0; node /= 2)
		last = places->covers[node] > last ? places->covers[node] : last;
	return last;
}

/* Adds the function of a piece of code. 0: the code has no name. `module`: the pseudo-mapping of
 * functions of its language; 0 = none. */
static uint32_t add_function(mw_profile_t *p, mw_jit_reader_t *reader, off_t at, mw_line_t *line,
			     uint32_t *module) {
	char text[MW_JIT_NAME_BYTES];
	mw_jit_name_t name;
	*module = 0;
	if (!mw_jit_read_name(reader, at, text))
		return 0;
	mw_jit_name_parse(text, &name);
	mw_function_t entry = {.name = mw_profile_intern(p, name.name), .start_line = name.line};
	entry.system_name = entry.name;
	if (name.file != NULL)
		entry.file = mw_profile_intern(p, name.file);
	if (name.module != NULL) {
		mw_mapping_t mapping = {.path = mw_profile_intern(p, name.module),
					.has_functions = true};
		*module = mw_profile_add_mapping(p, &mapping);
	}
	line->line = name.line;
	return mw_profile_add_function(p, &entry);
}

/* Names the locations in the order of their addresses. Neighbours in one piece of code share the
 * function. */
static void name_places(mw_profile_t *p, const places_t *places, mw_jit_reader_t *reader) {
	uint64_t before = 0;
	uint32_t module = 0;
	mw_line_t named = {.function = 0};
	for (size_t i = 0; i < places->count; i++) {
		uint64_t last = last_cover(places, i);
		if (last == 0)
			continue;
		if (last != before)
			named.function =
				add_function(p, reader, (off_t)(last - 1), &named, &module);
		before = last;
		if (named.function == 0)
			continue;
		mw_profile_set_lines(p, places->locations[i], &named, 1);
		if (module != 0)
			p->locations[places->locations[i]].mapping = module;
	}
}

void mw_jit_symbolize_by(mw_profile_t *p, FILE *file, uint32_t pid) {
	places_t places = find_places(p);
	mw_jit_reader_t reader;
	mw_jit_code_t code;
	if (places.count > 0 && mw_jit_reader_open(&reader, file) &&
	    (!reader.is_dump || reader.pid == pid)) {
		while (mw_jit_read(&reader, &code))
			cover(p, &places, code.start, code.bytes, code.at);
		name_places(p, &places, &reader);
	}
	free(places.covers);
	free(places.locations);
}

void mw_jit_symbolize(mw_profile_t *p, uint32_t pid) {
	if (!has_places(p))
		return;
	FILE *files[] = {mw_jit_find_dump(p, pid), mw_jit_find_map(p, pid)};
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (files[i] != NULL) {
			mw_jit_symbolize_by(p, files[i], mw_jit_own_pid(p, pid));
			fclose(files[i]);
		}
}
