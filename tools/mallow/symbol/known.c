/* SPDX-License-Identifier: MIT
 * known.c -- a profile used as a table from addresses to functions. */
#include "symbol/known.h"

#include <stdlib.h>
#include <string.h>

#include "model/alloc.h"
#include "model/table.h"
#include "read/read.h"
#include "symbol/cache.h"
#include "symbol/object.h"
#include "write/write.h"

/* Says which command wrote the file: another one may name functions otherwise. */
#define VERSION_COMMENT "symbols kept by mallow " MALLOW_VERSION
#define THE_MAPPING 1u

struct mw_known {
	mw_profile_t *profile;
	char *path; /* NULL: nothing is kept */
	mw_table_t by_address;
	uint32_t *functions; /* here, of those of the profile that is taken from; 0: not yet */
	size_t function_capacity;
	bool was_kept;
	bool changed;
};

static bool address_equal(const void *context, uint32_t entry, const void *key) {
	const mw_profile_t *p = context;
	return p->locations[entry].address == *(const uint64_t *)key;
}

static mw_profile_t *start_profile(const char *build_id) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_type(p, "alloc_objects", "count"); /* readers want one */
	mw_profile_add_comment(p, VERSION_COMMENT);
	mw_mapping_t mapping = {
		.limit = UINT64_MAX,
		.build_id = mw_profile_intern(p, build_id),
		.has_functions = true,
		.has_filenames = true,
		.has_line_numbers = true,
		.has_inline_frames = true,
	};
	mw_profile_add_mapping(p, &mapping);
	return p;
}

static bool is_ours(const mw_profile_t *p, const char *build_id) {
	return p->comment_count == 1 &&
	       strcmp(mw_profile_string(p, p->comments[0]), VERSION_COMMENT) == 0 &&
	       p->mapping_count == THE_MAPPING + 1 &&
	       strcmp(mw_profile_string(p, p->mappings[THE_MAPPING].build_id), build_id) == 0;
}

/* The profile that earlier runs left, or NULL. */
static mw_profile_t *load(const char *path, const char *build_id) {
	mw_profile_t *p;
	if (!mw_cache_may_read(path) || mw_read_profile(path, &p, NULL) != 0)
		return NULL;
	if (is_ours(p, build_id))
		return p;
	mw_profile_free(p);
	return NULL;
}

static void index_address(mw_known_t *known, uint32_t location) {
	uint64_t address = known->profile->locations[location].address;
	mw_table_add(&known->by_address, mw_table_hash(&address, sizeof(address)), location);
}

mw_known_t *mw_known_open(const char *directory, const char *build_id) {
	mw_known_t *known = mw_xcalloc(1, sizeof(*known));
	known->path = mw_cache_path(directory, build_id);
	if (known->path != NULL)
		known->profile = load(known->path, build_id);
	known->was_kept = known->profile != NULL;
	if (!known->was_kept)
		known->profile = start_profile(build_id);
	for (size_t i = 1; i < known->profile->location_count; i++)
		if (mw_known_find(known, known->profile->locations[i].address) == 0)
			index_address(known, (uint32_t)i);
	return known;
}

void mw_known_close(mw_known_t *known) {
	if (known->path != NULL && known->changed &&
	    mw_write_profile(known->profile, known->path, MW_FORMAT_PROTO, MW_GZIP_OFF, NULL) == 0)
		mw_cache_trim(known->path);
	mw_profile_free(known->profile);
	mw_table_clear(&known->by_address);
	free(known->functions);
	free(known->path);
	free(known);
}

const mw_profile_t *mw_known_profile(const mw_known_t *known) {
	return known->profile;
}

bool mw_known_was_kept(const mw_known_t *known) {
	return known->was_kept;
}

uint32_t mw_known_find(const mw_known_t *known, uint64_t address) {
	return mw_table_find(&known->by_address, mw_table_hash(&address, sizeof(address)),
			     address_equal, known->profile, &address);
}

/* The function of another profile. */
static uint32_t take_function(mw_known_t *known, const mw_profile_t *from, uint32_t number) {
	const mw_function_t *f = &from->functions[number];
	mw_profile_t *to = known->profile;
	known->functions = mw_grow(known->functions, &known->function_capacity, (size_t)number + 1,
				   sizeof(uint32_t));
	if (known->functions[number] == 0) {
		const mw_function_t taken = {
			.name = mw_profile_intern(to, mw_profile_string(from, f->name)),
			.system_name =
				mw_profile_intern(to, mw_profile_string(from, f->system_name)),
			.file = mw_profile_intern(to, mw_profile_string(from, f->file)),
		};
		known->functions[number] = mw_profile_add_function(to, &taken);
	}
	return known->functions[number];
}

void mw_known_take(mw_known_t *known, uint64_t address, const mw_profile_t *from,
		   uint32_t location) {
	const mw_location_t *l = &from->locations[location];
	mw_line_t lines[MW_OBJECT_INLINE_MAX];
	uint32_t count =
		l->line_count < MW_OBJECT_INLINE_MAX ? l->line_count : MW_OBJECT_INLINE_MAX;
	if (mw_known_find(known, address) != 0)
		return;
	for (uint32_t i = 0; i < count; i++) {
		const mw_line_t *line = &from->lines[l->line_first + i];
		lines[i] = (mw_line_t){take_function(known, from, line->function), line->line};
	}
	uint32_t taken = mw_profile_append_location(known->profile, THE_MAPPING, address, false);
	mw_profile_set_lines(known->profile, taken, lines, count);
	index_address(known, taken);
	known->changed = true;
}
