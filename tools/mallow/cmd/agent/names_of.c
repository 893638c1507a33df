/* SPDX-License-Identifier: MIT
 * names_of.c -- finds locations by address and file. */
#include "cmd/agent/names_of.h"

#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "model/table.h"

void mw_names_forget(mw_profile_t *p) {
	for (uint32_t i = 1; i < p->location_count; i++)
		if (p->locations[i].mapping != 0 && !mw_profile_is_script(p, i))
			mw_profile_set_lines(p, i, NULL, 0);
}

/* A location, as both profiles have it. */
typedef struct place {
	uint64_t address, start;
	const char *path;
} place_t;

static place_t place_of(const mw_profile_t *p, uint32_t location) {
	const mw_location_t *l = &p->locations[location];
	const mw_mapping_t *mapping = &p->mappings[l->mapping];
	return (place_t){.address = l->address,
			 .start = mapping->start,
			 .path = mw_profile_string(p, mapping->path)};
}

static uint64_t hash_of(const place_t *place) {
	const uint64_t key[2] = {place->address, place->start};
	return mw_table_hash(key, sizeof(key));
}

static bool is_same(const void *context, uint32_t entry, const void *key) {
	const place_t have = place_of(context, entry), *want = key;
	return have.address == want->address && have.start == want->start &&
	       strcmp(have.path, want->path) == 0;
}

/* Returns the profile's own number of a function of the other one. */
static uint32_t function_of(mw_profile_t *p, const mw_profile_t *named, uint32_t number) {
	const mw_function_t *f = &named->functions[number];
	mw_function_t own = *f;
	own.name = mw_profile_intern(p, mw_profile_string(named, f->name));
	own.system_name = mw_profile_intern(p, mw_profile_string(named, f->system_name));
	own.file = mw_profile_intern(p, mw_profile_string(named, f->file));
	return mw_profile_add_function(p, &own);
}

static void copy_lines(mw_profile_t *p, uint32_t location, const mw_profile_t *named,
		       const mw_location_t *from) {
	mw_line_t *lines = mw_xcalloc(from->line_count, sizeof(*lines));
	for (uint32_t i = 0; i < from->line_count; i++) {
		lines[i] = named->lines[from->line_first + i];
		lines[i].function = function_of(p, named, lines[i].function);
	}
	mw_profile_set_lines(p, location, lines, from->line_count);
	free(lines);
}

void mw_names_take(mw_profile_t *p, const mw_profile_t *named) {
	mw_table_t table = {0};
	for (uint32_t i = 1; i < named->location_count; i++) {
		const place_t place = place_of(named, i);
		uint64_t hash = hash_of(&place);
		if (named->locations[i].line_count > 0 && named->locations[i].mapping != 0 &&
		    mw_table_find(&table, hash, is_same, named, &place) == 0)
			mw_table_add(&table, hash, i);
	}
	for (uint32_t i = 1; i < p->location_count; i++) {
		const place_t place = place_of(p, i);
		uint32_t found = mw_table_find(&table, hash_of(&place), is_same, named, &place);
		if (found != 0 && p->locations[i].line_count == 0 && p->locations[i].mapping != 0)
			copy_lines(p, i, named, &named->locations[found]);
	}
	mw_table_clear(&table);
}
