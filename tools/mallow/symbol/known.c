/* SPDX-License-Identifier: MIT
 * known.c -- a profile used as a table from addresses to functions. */
#include "symbol/known.h"

#include <stdlib.h>
#include <string.h>

#include "model/alloc.h"
#include "model/table.h"
#include "read/read.h"
#include "symbol/cache.h"
#include "symbol/symbolize.h"
#include "write/write.h"

/* Says which command wrote the file: another one may name functions otherwise. */
#define VERSION_COMMENT "symbols kept by mallow " MALLOW_VERSION
#define THE_MAPPING 1u

/* A function as the object has it.  Its texts are compared by their place: the object has each once
 * or a few times, and demangling is what takes the time. */
typedef struct source {
	const char *name, *file;
	uint32_t function;
} source_t;

struct mw_known {
	mw_profile_t *profile;
	char *path; /* NULL: nothing is kept */
	mw_table_t by_address;
	mw_table_t by_source;
	source_t *sources; /* [0] is none */
	size_t source_count, source_capacity;
	mw_string_t *readable; /* the demangled name of a name; 0: not asked for yet */
	size_t readable_capacity;
	bool was_kept;
	bool changed;
};

static bool address_equal(const void *context, uint32_t entry, const void *key) {
	const mw_profile_t *p = context;
	return p->locations[entry].address == *(const uint64_t *)key;
}

static bool source_equal(const void *context, uint32_t entry, const void *key) {
	const source_t *have = (const source_t *)context + entry, *want = key;
	return have->name == want->name && have->file == want->file;
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
	known->sources = mw_grow(NULL, &known->source_capacity, 1, sizeof(source_t));
	known->source_count = 1;
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

void mw_known_close(mw_known_t *known, bool is_worth_it) {
	if (known->path != NULL && known->changed && is_worth_it &&
	    mw_write_profile(known->profile, known->path, MW_FORMAT_PROTO, MW_GZIP_OFF, NULL) == 0)
		mw_cache_trim(known->path);
	mw_profile_free(known->profile);
	mw_table_clear(&known->by_address);
	mw_table_clear(&known->by_source);
	free(known->sources);
	free(known->readable);
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

/* Demangling is slow, and many units have the same functions. */
static mw_string_t demangle_once(mw_known_t *known, mw_string_t system_name) {
	known->readable = mw_grow(known->readable, &known->readable_capacity,
				  (size_t)system_name + 1, sizeof(mw_string_t));
	if (known->readable[system_name] == 0) {
		char *name = mw_demangle(mw_profile_string(known->profile, system_name));
		known->readable[system_name] = mw_profile_intern(known->profile, name);
		free(name);
	}
	return known->readable[system_name];
}

/* Makes a function of a frame's texts. */
static uint32_t make_function(mw_known_t *known, const mw_symbol_frame_t *frame) {
	mw_profile_t *p = known->profile;
	/* Dynamic symbols may carry a version: name@VERSION. */
	size_t length = strlen(frame->name);
	const char *version = length > 0 ? strchr(frame->name + 1, '@') : NULL;
	if (version != NULL)
		length = (size_t)(version - frame->name);
	mw_function_t function = {.system_name = mw_profile_intern_bytes(p, frame->name, length)};
	function.name = demangle_once(known, function.system_name);
	if (frame->file != NULL)
		function.file = mw_profile_intern(p, frame->file);
	return mw_profile_add_function(p, &function);
}

static uint32_t find_function(mw_known_t *known, const mw_symbol_frame_t *frame) {
	source_t key = {.name = frame->name, .file = frame->file};
	uint64_t hash = mw_table_hash(&key, offsetof(source_t, function));
	uint32_t found = mw_table_find(&known->by_source, hash, source_equal, known->sources, &key);
	if (found != 0)
		return known->sources[found].function;
	key.function = make_function(known, frame);
	known->sources = mw_grow(known->sources, &known->source_capacity, known->source_count + 1,
				 sizeof(source_t));
	known->sources[known->source_count] = key;
	mw_table_add(&known->by_source, hash, (uint32_t)known->source_count++);
	return key.function;
}

void mw_known_forget_places(mw_known_t *known) {
	mw_table_clear(&known->by_source);
	known->source_count = 1;
}

uint32_t mw_known_add(mw_known_t *known, uint64_t address, const mw_symbol_frame_t *frames,
		      size_t count) {
	mw_profile_t *p = known->profile;
	mw_line_t lines[MW_OBJECT_INLINE_MAX];
	for (size_t i = 0; i < count; i++)
		lines[i] = (mw_line_t){find_function(known, &frames[i]), frames[i].line};
	uint32_t location = mw_profile_append_location(p, THE_MAPPING, address, false);
	mw_profile_set_lines(p, location, lines, count);
	index_address(known, location);
	known->changed = true;
	return location;
}
