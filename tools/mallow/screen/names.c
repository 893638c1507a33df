/* SPDX-License-Identifier: MIT
 * names.c -- a table by address. */
#include "screen/names.h"

#include <stdlib.h>
#include <string.h>

#include "model/alloc.h"
#include "model/table.h"

struct mw_names {
	mw_name_t *entries; /* [0] is none; the texts are owned */
	size_t count, capacity;
	mw_table_t by_address;
};

static bool address_equal(const void *context, uint32_t entry, const void *key) {
	return ((const mw_name_t *)context)[entry].address == *(const uint64_t *)key;
}

mw_names_t *mw_names_new(void) {
	mw_names_t *names = mw_xcalloc(1, sizeof(*names));
	names->entries = mw_grow(NULL, &names->capacity, 1, sizeof(mw_name_t));
	names->count = 1;
	return names;
}

void mw_names_free(mw_names_t *names) {
	for (size_t i = 1; i < names->count; i++) {
		free((char *)(uintptr_t)names->entries[i].function);
		free((char *)(uintptr_t)names->entries[i].module);
	}
	mw_table_clear(&names->by_address);
	free(names->entries);
	free(names);
}

static const mw_name_t *find(const mw_names_t *names, uint64_t address) {
	uint32_t found = mw_table_find(&names->by_address, mw_table_hash(&address, sizeof(address)),
				       address_equal, names->entries, &address);
	return found != 0 ? &names->entries[found] : NULL;
}

const mw_name_t *mw_names_find(const mw_names_t *names, const mw_profile_t *profile,
			       uint32_t location) {
	return find(names, profile->locations[location].address);
}

static const char *base_name(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static void keep(mw_names_t *names, const mw_profile_t *p, uint32_t location) {
	const mw_location_t *l = &p->locations[location];
	char buffer[320];
	const char *function = mw_location_name(p, location, buffer, sizeof(buffer));
	if (l->line_count > 0)
		function =
			mw_profile_string(p, p->functions[p->lines[l->line_first].function].name);
	const char *module = base_name(mw_profile_string(p, p->mappings[l->mapping].path));
	names->entries =
		mw_grow(names->entries, &names->capacity, names->count + 1, sizeof(mw_name_t));
	names->entries[names->count] =
		(mw_name_t){l->address, mw_xstrdup(function),
			    mw_xstrdup(*module != '\0' ? module : "[anonymous]")};
	mw_table_add(&names->by_address, mw_table_hash(&l->address, sizeof(l->address)),
		     (uint32_t)names->count++);
}

/* Copies a location that is not known, with its mapping, into a profile of such. */
static void copy_location(mw_profile_t *to, const mw_profile_t *from, const mw_location_t *l) {
	mw_mapping_t mapping = from->mappings[l->mapping];
	mapping.path = mw_profile_intern(to, mw_profile_string(from, mapping.path));
	mapping.build_id = mw_profile_intern(to, mw_profile_string(from, mapping.build_id));
	uint32_t number = l->mapping != 0 ? mw_profile_add_mapping(to, &mapping) : 0;
	uint32_t location = mw_profile_add_location(to, number, l->address, l->is_exact);
	if (l->line_count == 0)
		return;
	/* Marks that stand for no code: "[truncated]". */
	mw_function_t function = from->functions[from->lines[l->line_first].function];
	function.name = mw_profile_intern(to, mw_profile_string(from, function.name));
	function.system_name = function.name;
	function.file = 0;
	mw_line_t line = {.function = mw_profile_add_function(to, &function)};
	mw_profile_set_lines(to, location, &line, 1);
}

void mw_names_add(mw_names_t *names, const mw_profile_t *profile,
		  const mw_symbolize_options_t *options) {
	mw_profile_t *unknown = mw_profile_new();
	unknown->origin.pid = profile->origin.pid;
	for (size_t i = 1; i < profile->location_count; i++)
		if (find(names, profile->locations[i].address) == NULL)
			copy_location(unknown, profile, &profile->locations[i]);
	if (unknown->location_count > 1)
		mw_symbolize(unknown, options);
	for (size_t i = 1; i < unknown->location_count; i++)
		if (find(names, unknown->locations[i].address) == NULL)
			keep(names, unknown, (uint32_t)i);
	mw_profile_free(unknown);
}
