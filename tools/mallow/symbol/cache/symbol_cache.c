/* SPDX-License-Identifier: MIT
 * symbol_cache.c -- uses a profile as a table from addresses to functions. */
#include "symbol/cache/symbol_cache.h"

#include <stdlib.h>
#include <string.h>

#include "formats/read.h"
#include "formats/write.h"
#include "model/memory.h"
#include "model/table.h"
#include "symbol/cache/cache_folder.h"
#include "symbol/elf/elf_object.h"

/* Names the command's version that wrote the file.  Another version may name functions
 * differently.  The last number is raised when names change within a version. */
#define VERSION_COMMENT "symbols kept by mallow " MALLOW_VERSION " 2"
#define THE_MAPPING 1u

struct mw_symbol_cache {
	mw_profile_t *profile;
	char *path; /* path of the cache file; NULL = nothing is cached */
	mw_table_t by_address;
	/* functions[i]: number in the cache of function i of the source profile; 0 = not added
	 * yet. */
	uint32_t *functions;
	size_t function_capacity;
	bool has_names;
	bool changed;
};

static bool address_equal(const void *context, uint32_t entry, const void *key) {
	const mw_profile_t *p = context;
	return p->locations[entry].address == *(const uint64_t *)key;
}

static mw_profile_t *start_profile(const mw_symbol_cache_file_t *file) {
	mw_profile_t *p = mw_profile_new();
	/* Readers of profile.proto expect a sample type. */
	mw_profile_add_type(p, "alloc_objects", "count");
	mw_profile_add_comment(p, VERSION_COMMENT);
	mw_profile_add_comment(p, file->identity);
	mw_mapping_t mapping = {
		.limit = UINT64_MAX,
		.path = mw_profile_intern(p, file->path),
		.build_id = mw_profile_intern(p, file->build_id),
		.has_functions = true,
		.has_filenames = true,
		.has_line_numbers = true,
		.has_inline_frames = true,
	};
	mw_profile_add_mapping(p, &mapping);
	return p;
}

/* True if names kept from the file `kept` may be used for the file `wanted`. */
static bool is_identity(const char *kept, const char *wanted) {
	return wanted[0] != '\0' ? strcmp(kept, wanted) == 0 : mw_identity_outlives_file(kept);
}

static bool is_ours(const mw_profile_t *p, const mw_symbol_cache_file_t *file) {
	if (p->comment_count != 2 || p->mapping_count != THE_MAPPING + 1 ||
	    strcmp(mw_profile_string(p, p->comments[0]), VERSION_COMMENT) != 0)
		return false;
	const mw_mapping_t *m = &p->mappings[THE_MAPPING];
	return strcmp(mw_profile_string(p, m->build_id), file->build_id) == 0 &&
	       strcmp(mw_profile_string(p, m->path), file->path) == 0 &&
	       is_identity(mw_profile_string(p, p->comments[1]), file->identity);
}

/* Returns the profile that an earlier run wrote, or NULL. */
static mw_profile_t *load(const char *path, const mw_symbol_cache_file_t *file) {
	mw_profile_t *p;
	if (!mw_cache_may_read(path) || mw_read_profile(path, &p, NULL) != 0)
		return NULL;
	if (is_ours(p, file))
		return p;
	mw_profile_free(p);
	return NULL;
}

static void index_address(mw_symbol_cache_t *cache, uint32_t location) {
	uint64_t address = cache->profile->locations[location].address;
	mw_table_add(&cache->by_address, mw_table_hash(&address, sizeof(address)), location);
}

mw_symbol_cache_t *mw_symbol_cache_open(const char *directory, const mw_symbol_cache_file_t *file) {
	mw_symbol_cache_t *cache = mw_xcalloc(1, sizeof(*cache));
	cache->path = mw_cache_path(directory, file->build_id, file->path);
	if (cache->path != NULL)
		cache->profile = load(cache->path, file);
	cache->has_names = cache->profile != NULL;
	if (!cache->has_names)
		cache->profile = start_profile(file);
	for (size_t i = 1; i < cache->profile->location_count; i++)
		if (mw_symbol_cache_find(cache, cache->profile->locations[i].address) == 0)
			index_address(cache, (uint32_t)i);
	return cache;
}

void mw_symbol_cache_close(mw_symbol_cache_t *cache) {
	if (cache->path != NULL && cache->changed &&
	    mw_write_profile(cache->profile, cache->path, MW_FORMAT_PROTO, MW_GZIP_OFF, NULL) == 0)
		mw_cache_trim(cache->path);
	mw_profile_free(cache->profile);
	mw_table_clear(&cache->by_address);
	free(cache->functions);
	free(cache->path);
	free(cache);
}

const mw_profile_t *mw_symbol_cache_profile(const mw_symbol_cache_t *cache) {
	return cache->profile;
}

bool mw_symbol_cache_has_names(const mw_symbol_cache_t *cache) {
	return cache->has_names;
}

uint32_t mw_symbol_cache_find(const mw_symbol_cache_t *cache, uint64_t address) {
	return mw_table_find(&cache->by_address, mw_table_hash(&address, sizeof(address)),
			     address_equal, cache->profile, &address);
}

/* Returns the number in the cache of a function of another profile, and adds the function if
 * necessary. */
static uint32_t take_function(mw_symbol_cache_t *cache, const mw_profile_t *from, uint32_t number) {
	const mw_function_t *f = &from->functions[number];
	mw_profile_t *to = cache->profile;
	cache->functions = mw_grow(cache->functions, &cache->function_capacity, (size_t)number + 1,
				   sizeof(uint32_t));
	if (cache->functions[number] == 0) {
		const mw_function_t taken = {
			.name = mw_profile_intern(to, mw_profile_string(from, f->name)),
			.system_name =
				mw_profile_intern(to, mw_profile_string(from, f->system_name)),
			.file = mw_profile_intern(to, mw_profile_string(from, f->file)),
		};
		cache->functions[number] = mw_profile_add_function(to, &taken);
	}
	return cache->functions[number];
}

void mw_symbol_cache_add(mw_symbol_cache_t *cache, uint64_t address, const mw_profile_t *from,
			 uint32_t location) {
	const mw_location_t *l = &from->locations[location];
	mw_line_t lines[MW_OBJECT_INLINE_MAX];
	uint32_t count =
		l->line_count < MW_OBJECT_INLINE_MAX ? l->line_count : MW_OBJECT_INLINE_MAX;
	if (mw_symbol_cache_find(cache, address) != 0)
		return;
	for (uint32_t i = 0; i < count; i++) {
		const mw_line_t *line = &from->lines[l->line_first + i];
		lines[i] = (mw_line_t){take_function(cache, from, line->function), line->line};
	}
	if (count == 0 && l->range_function != 0)
		lines[count++] = (mw_line_t){take_function(cache, from, l->range_function), 0};
	uint32_t taken = mw_profile_append_location(cache->profile, THE_MAPPING, address, false);
	mw_profile_set_lines(cache->profile, taken, lines, count);
	index_address(cache, taken);
	cache->changed = true;
}
