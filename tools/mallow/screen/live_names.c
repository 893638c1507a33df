/* SPDX-License-Identifier: MIT
 * live_names.c -- keeps a profile of all locations so far, and a table by address. */
#include "screen/live_names.h"

#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "model/table.h"
#include "view/select/selection.h"

/* Whether the filter matches a location. */
typedef enum match { UNKNOWN, NO, YES } match_t;

struct mw_names {
	mw_profile_t *profile; /* its locations with their lines are the known names */
	mw_table_t by_address;
	mw_string_t *plain; /* plain[i]: name of location i if it has no lines */
	size_t plain_capacity;
	mw_pattern_t *focus; /* the filter; NULL = none */
	match_t *matches;    /* matches[i]: whether the filter matches location i */
	size_t match_capacity;
	mw_wrappers_t *wrappers;
	bool shows_wrappers;
	/* map[i]: location of `profile` for location i of the profile `mapped`; NULL = none yet. */
	const mw_profile_t *mapped;
	uint32_t *map;
	size_t map_capacity;
	uint32_t *stack; /* a sample's locations of `profile` */
	size_t stack_capacity;
};

static bool address_equal(const void *context, uint32_t entry, const void *key) {
	return ((const mw_profile_t *)context)->locations[entry].address == *(const uint64_t *)key;
}

mw_names_t *mw_names_new(void) {
	mw_names_t *names = mw_xcalloc(1, sizeof(*names));
	names->profile = mw_profile_new();
	names->wrappers = mw_wrappers_new(names->profile, MW_WRAPPERS_ALL);
	return names;
}

void mw_names_free(mw_names_t *names) {
	mw_profile_free(names->profile);
	mw_table_clear(&names->by_address);
	mw_pattern_free(names->focus);
	mw_wrappers_free(names->wrappers);
	free(names->plain);
	free(names->matches);
	free(names->map);
	free(names->stack);
	free(names);
}

/* Returns the location of an address; 0 = the address is not known. */
static uint32_t find(const mw_names_t *names, uint64_t address) {
	return mw_table_find(&names->by_address, mw_table_hash(&address, sizeof(address)),
			     address_equal, names->profile, &address);
}

/* Returns the known location of a profile's location.  All of them are looked up once, because
 * thousands of stacks hold each. */
static uint32_t number_of(mw_names_t *names, const mw_profile_t *profile, uint32_t location) {
	if (names->mapped != profile) {
		names->map = mw_grow(names->map, &names->map_capacity, profile->location_count,
				     sizeof(uint32_t));
		for (size_t i = 0; i < profile->location_count; i++)
			names->map[i] = find(names, profile->locations[i].address);
		names->mapped = profile;
	}
	return names->map[location];
}

mw_name_t mw_names_find(mw_names_t *names, const mw_profile_t *profile, uint32_t location) {
	return (mw_name_t){names, number_of(names, profile, location)};
}

/* Returns a sample's stack as known locations. */
static const uint32_t *stack_of(mw_names_t *names, const mw_profile_t *p, const mw_sample_t *s) {
	names->stack = mw_grow(names->stack, &names->stack_capacity, (size_t)s->depth + 1,
			       sizeof(uint32_t));
	for (uint32_t i = 0; i < s->depth; i++)
		names->stack[i] = number_of(names, p, p->frames[s->frame_first + i]);
	return names->stack;
}

void mw_names_show_wrappers(mw_names_t *names, bool shown) {
	names->shows_wrappers = shown;
}

void mw_names_learn(mw_names_t *names, const mw_profile_t *p) {
	for (size_t i = 0; i < p->sample_count; i++)
		mw_wrappers_learn(names->wrappers, stack_of(names, p, &p->samples[i]),
				  p->samples[i].depth);
}

mw_frame_position_t mw_names_first(mw_names_t *names, const mw_profile_t *p, const mw_sample_t *s) {
	if (names->shows_wrappers || s->depth == 0)
		return (mw_frame_position_t){0, 0};
	return mw_wrappers_skip(names->wrappers, stack_of(names, p, s), s->depth);
}

static const mw_location_t *location_of(mw_name_t name) {
	return &name.names->profile->locations[name.number];
}

uint32_t mw_name_functions(mw_name_t name) {
	return mw_location_frames(location_of(name));
}

const char *mw_name_function(mw_name_t name, uint32_t k) {
	const mw_profile_t *p = name.names->profile;
	const mw_line_t *line = mw_location_line(p, location_of(name), k);
	return mw_profile_string(p, line != NULL ? p->functions[line->function].name
						 : name.names->plain[name.number]);
}

const char *mw_name_module(mw_name_t name) {
	const mw_profile_t *p = name.names->profile;
	const char *path = mw_profile_string(p, p->mappings[location_of(name)->mapping].path);
	const char *slash = strrchr(path, '/');
	path = slash != NULL && slash[1] != '\0' ? slash + 1 : path;
	return *path != '\0' ? path : "[anonymous]";
}

void mw_names_focus(mw_names_t *names, mw_pattern_t *pattern) {
	mw_pattern_free(names->focus);
	names->focus = pattern;
	free(names->matches);
	names->matches = NULL;
	names->match_capacity = 0;
}

/* Matches each location once: thousands of stacks may contain it, and they are checked twice a
 * second. */
static bool matches(mw_names_t *names, uint32_t number) {
	names->matches = mw_grow(names->matches, &names->match_capacity, (size_t)number + 1,
				 sizeof(match_t));
	match_t *match = &names->matches[number];
	if (*match == UNKNOWN)
		*match = mw_location_matches(names->profile, number, names->focus) ? YES : NO;
	return *match == YES;
}

bool mw_names_in_focus(mw_names_t *names, const mw_profile_t *p, const mw_sample_t *s) {
	if (names->focus == NULL)
		return true;
	for (uint32_t i = 0; i < s->depth; i++)
		if (matches(names, number_of(names, p, p->frames[s->frame_first + i])))
			return true;
	return false;
}

/* Copies a location with its mapping and lines.  Returns its number in `to`. */
static uint32_t copy_location(mw_profile_t *to, const mw_profile_t *from, const mw_location_t *l) {
	mw_mapping_t mapping = from->mappings[l->mapping];
	mapping.path = mw_profile_intern(to, mw_profile_string(from, mapping.path));
	mapping.build_id = mw_profile_intern(to, mw_profile_string(from, mapping.build_id));
	uint32_t number = l->mapping != 0 ? mw_profile_add_mapping(to, &mapping) : 0;
	uint32_t location = mw_profile_add_location(to, number, l->address, l->is_exact);
	mw_line_t *lines = mw_xcalloc(l->line_count, sizeof(mw_line_t));
	for (uint32_t i = 0; i < l->line_count; i++) {
		mw_function_t function = from->functions[from->lines[l->line_first + i].function];
		function.name = mw_profile_intern(to, mw_profile_string(from, function.name));
		function.file = mw_profile_intern(to, mw_profile_string(from, function.file));
		function.system_name = function.name;
		lines[i] = (mw_line_t){mw_profile_add_function(to, &function),
				       from->lines[l->line_first + i].line};
	}
	mw_profile_set_lines(to, location, lines, l->line_count);
	free(lines);
	return location;
}

static void keep(mw_names_t *names, const mw_profile_t *from, uint32_t number) {
	const mw_location_t *l = &from->locations[number];
	char buffer[320];
	uint32_t location = copy_location(names->profile, from, l);
	names->plain = mw_grow(names->plain, &names->plain_capacity, (size_t)location + 1,
			       sizeof(mw_string_t));
	if (l->line_count == 0)
		names->plain[location] = mw_profile_intern(
			names->profile, mw_location_name(from, number, buffer, sizeof(buffer)));
	mw_table_add(&names->by_address, mw_table_hash(&l->address, sizeof(l->address)), location);
}

void mw_names_add(mw_names_t *names, const mw_profile_t *profile,
		  const mw_symbolize_options_t *options) {
	mw_profile_t *unknown = mw_profile_new();
	names->mapped = NULL; /* an older profile may have had this address in memory */
	unknown->origin.pid = profile->origin.pid;
	/* Markers such as "[truncated]", which stand for no code, have lines already. */
	for (size_t i = 1; i < profile->location_count; i++)
		if (find(names, profile->locations[i].address) == 0)
			copy_location(unknown, profile, &profile->locations[i]);
	if (unknown->location_count > 1)
		mw_symbolize(unknown, options);
	mw_profile_name_ranges(unknown);
	for (size_t i = 1; i < unknown->location_count; i++)
		if (find(names, unknown->locations[i].address) == 0)
			keep(names, unknown, (uint32_t)i);
	mw_profile_free(unknown);
}
