/* SPDX-License-Identifier: MIT
 * found.c -- finds a profile's functions and texts by their addresses in an object's memory. */
#include "symbol/workers/found.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "model/table.h"
#include "symbol/elf/demangle.h"

/* A function of the object.  Texts are compared by address: the object holds each text once or a
 * few times, and demangling takes most of the time. */
typedef struct source {
	const char *name, *file;
	uint32_t function;
} source_t;

struct mw_found {
	mw_profile_t *profile;
	mw_table_t by_source;
	source_t *sources; /* sources[0] is unused */
	size_t source_count, source_capacity;
	mw_string_t *readable; /* readable[i]: demangled name of string i; 0 = not demangled yet */
	size_t readable_capacity;
};

static bool source_equal(const void *context, uint32_t entry, const void *key) {
	const source_t *have = (const source_t *)context + entry, *want = key;
	return have->name == want->name && have->file == want->file;
}

mw_found_t *mw_found_new(void) {
	mw_found_t *names = mw_xcalloc(1, sizeof(*names));
	names->profile = mw_profile_new();
	names->sources = mw_grow(NULL, &names->source_capacity, 1, sizeof(source_t));
	names->source_count = 1;
	return names;
}

void mw_found_free(mw_found_t *names) {
	mw_profile_free(names->profile);
	mw_table_clear(&names->by_source);
	free(names->sources);
	free(names->readable);
	free(names);
}

const mw_profile_t *mw_found_profile(const mw_found_t *names) {
	return names->profile;
}

/* Demangles each name once: demangling is slow, and many units contain the same functions. */
static mw_string_t demangle_once(mw_found_t *names, mw_string_t system_name) {
	names->readable = mw_grow(names->readable, &names->readable_capacity,
				  (size_t)system_name + 1, sizeof(mw_string_t));
	if (names->readable[system_name] == 0) {
		char *name = mw_demangle(mw_profile_string(names->profile, system_name));
		names->readable[system_name] = mw_profile_intern(names->profile, name);
		free(name);
	}
	return names->readable[system_name];
}

/* Makes a function of a frame's texts. */
static uint32_t make_function(mw_found_t *names, const mw_symbol_frame_t *frame) {
	mw_profile_t *p = names->profile;
	if (frame->is_range)
		return mw_profile_add_function(
			p, &(mw_function_t){.name = mw_profile_intern(p, frame->name)});
	/* Dynamic symbols may have a version: name@VERSION. */
	size_t length = strlen(frame->name);
	const char *version = length > 0 ? strchr(frame->name + 1, '@') : NULL;
	if (version != NULL)
		length = (size_t)(version - frame->name);
	mw_function_t function = {.system_name = mw_profile_intern_bytes(p, frame->name, length)};
	function.name = demangle_once(names, function.system_name);
	if (frame->file != NULL)
		function.file = mw_profile_intern(p, frame->file);
	return mw_profile_add_function(p, &function);
}

uint32_t mw_found_add(mw_found_t *names, const mw_symbol_frame_t *frame) {
	source_t key = {.name = frame->name, .file = frame->file};
	uint64_t hash = mw_table_hash(&key, offsetof(source_t, function));
	uint32_t found = mw_table_find(&names->by_source, hash, source_equal, names->sources, &key);
	if (found != 0)
		return names->sources[found].function;
	key.function = make_function(names, frame);
	names->sources = mw_grow(names->sources, &names->source_capacity, names->source_count + 1,
				 sizeof(source_t));
	names->sources[names->source_count] = key;
	mw_table_add(&names->by_source, hash, (uint32_t)names->source_count++);
	return key.function;
}

void mw_found_forget_places(mw_found_t *names) {
	mw_table_clear(&names->by_source);
	names->source_count = 1;
}
