/* SPDX-License-Identifier: MIT
 * gather.c -- makes a profile of rows. */
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "store/row_batch.h"

/* Addresses of a profile made of rows: each file has a range of its own, below the kernel's. */
#define FILE_BYTES (UINT64_C(1) << 32)

typedef struct gathering {
	const mw_batch_t *batch;
	mw_profile_t *profile;
	uint32_t *
		locations; /* number in the profile of each of the batch's locations; 0 = not yet */
	uint32_t *frames;
	size_t frame_capacity;
	mw_table_t files; /* number of the mapping of a build-id and path */
	uint32_t missing; /* location that stands for what is missing; 0 = not made yet */
} gathering_t;

/* A location of one frame, of no file. */
static uint32_t add_word(mw_profile_t *p, const char *word) {
	mw_function_t function = {.name = mw_profile_intern(p, word),
				  .system_name = mw_profile_intern(p, word)};
	mw_line_t line = {.function = mw_profile_add_function(p, &function)};
	uint32_t location = mw_profile_append_location(p, 0, 0, false);
	mw_profile_set_lines(p, location, &line, 1);
	return location;
}

static uint32_t missing(gathering_t *g) {
	if (g->missing == 0)
		g->missing = add_word(g->profile, "[missing]");
	return g->missing;
}

static bool same_file(const void *context, uint32_t entry, const void *key) {
	const mw_mapping_t *have = &((const mw_profile_t *)context)->mappings[entry];
	const mw_mapping_t *want = key;
	return have->path == want->path && have->build_id == want->build_id;
}

/* Returns the offset of the file's first location: the symbolizer finds the segment of the file by
 * the mapping's offset, and code lies in one.  Texts of a batch are kept once. */
static uint64_t first_offset(const mw_batch_t *batch, const mw_row_location_t *of) {
	uint64_t first = of->offset;
	for (size_t i = 0; i < batch->location_count; i++) {
		const mw_row_location_t *l = &batch->locations[i];
		if (l->build_id == of->build_id && l->path == of->path && l->offset < first)
			first = l->offset;
	}
	return first;
}

/* Returns the mapping of the location's file. */
static uint32_t mapping_of(gathering_t *g, const mw_row_location_t *l) {
	mw_profile_t *p = g->profile;
	if (l->build_id[0] == '\0' && l->path[0] == '\0')
		return 0;
	mw_mapping_t mapping = {.path = mw_profile_intern(p, l->path),
				.build_id = mw_profile_intern(p, l->build_id)};
	const uint32_t key[2] = {mapping.path, mapping.build_id};
	uint64_t hash = mw_table_hash(key, sizeof(key));
	uint32_t found = mw_table_find(&g->files, hash, same_file, p, &mapping);
	if (found != 0)
		return found;
	uint64_t base = p->mapping_count * FILE_BYTES;
	mapping.offset = first_offset(g->batch, l);
	mapping.start = base + mapping.offset;
	mapping.limit = base + FILE_BYTES;
	found = mw_profile_append_mapping(p, &mapping);
	mw_table_add(&g->files, hash, found);
	return found;
}

void mw_row_lines_set(mw_profile_t *p, uint32_t location, const mw_row_line_t *from,
		      uint32_t count) {
	mw_line_t *lines = mw_xcalloc(count, sizeof(*lines));
	for (uint32_t i = 0; i < count; i++) {
		mw_function_t function = {
			.name = mw_profile_intern(p, from[i].function),
			.system_name = mw_profile_intern(p, from[i].system_name),
			.file = mw_profile_intern(p, from[i].file),
			.start_line = from[i].start_line,
		};
		lines[i].function = mw_profile_add_function(p, &function);
		lines[i].line = from[i].line;
	}
	mw_profile_set_lines(p, location, lines, count);
	free(lines);
}

static uint32_t add_location(gathering_t *g, const mw_row_location_t *l) {
	mw_profile_t *p = g->profile;
	/* Hostile rows may say so; it would be another file's address. */
	if (l->offset >= FILE_BYTES)
		return missing(g);
	uint32_t mapping = mapping_of(g, l);
	const mw_mapping_t *file = &p->mappings[mapping];
	uint32_t number =
		mw_profile_append_location(p, mapping, file->start - file->offset + l->offset,
					   (l->flags & MW_LOCATION_EXACT) != 0);
	p->locations[number].is_folded = (l->flags & MW_LOCATION_FOLDED) != 0;
	if (l->line_count == 0)
		return number;
	mw_row_lines_set(p, number, g->batch->lines + l->line_first, l->line_count);
	if (mapping != 0)
		p->mappings[mapping].has_functions = true;
	return number;
}

static uint32_t location_of(gathering_t *g, uint64_t id) {
	const mw_row_location_t *l = mw_batch_location(g->batch, id);
	if (l == NULL)
		return missing(g);
	uint32_t *number = &g->locations[l - g->batch->locations];
	if (*number == 0)
		*number = add_location(g, l);
	return *number;
}

static void add_sample(gathering_t *g, const mw_row_sample_t *sample, const int *columns) {
	const mw_row_stack_t *stack = mw_batch_stack(g->batch, sample->stack);
	size_t depth = stack != NULL ? stack->depth : 1;
	g->frames = mw_grow(g->frames, &g->frame_capacity, depth, sizeof(*g->frames));
	for (size_t i = 0; i < depth; i++)
		g->frames[i] = stack != NULL
				       ? location_of(g, g->batch->frames[stack->frame_first + i])
				       : missing(g);
	int64_t values[MW_VALUES] = {0};
	for (int i = 0; i < MW_VALUES; i++)
		if (columns[i] >= 0)
			values[columns[i]] = sample->values[i];
	mw_profile_add_sample(g->profile, g->frames, depth, values, NULL, 0);
}

/* Adds the kind's types, and sets the column of each value; -1: the kind lacks the value.  The
 * order of heap types is profile.proto's: what was allocated comes first. */
static void add_types(mw_profile_t *p, const mw_kind_values_t *k, int columns[MW_VALUES]) {
	static const int order[MW_VALUES] = {MW_VALUE_SINCE_COUNT, MW_VALUE_SINCE_AMOUNT,
					     MW_VALUE_NOW_COUNT, MW_VALUE_NOW_AMOUNT};
	for (int i = 0; i < MW_VALUES; i++)
		columns[i] = -1;
	for (int i = 0; i < MW_VALUES; i++)
		if (k->values[order[i]].type != NULL)
			columns[order[i]] = (int)mw_profile_add_type(p, k->values[order[i]].type,
								     k->values[order[i]].unit);
	p->default_type = (uint32_t)columns[k->standard];
	bool is_memory = k->values[MW_VALUE_NOW_AMOUNT].type != NULL;
	p->period_type = p->types[p->default_type];
	if (is_memory)
		p->period_type.type = mw_profile_intern(p, "space");
}

mw_profile_t *mw_profile_of_batch(const mw_batch_t *batch, mw_kind_t kind,
				  const int64_t other[MW_VALUES]) {
	gathering_t g = {.batch = batch, .profile = mw_profile_new()};
	int columns[MW_VALUES];
	g.locations = mw_xcalloc(batch->location_count + 1, sizeof(*g.locations));
	add_types(g.profile, mw_kind_values(kind), columns);
	for (size_t i = 0; i < batch->sample_count; i++)
		add_sample(&g, &batch->samples[i], columns);
	bool has_other = false;
	int64_t rest[MW_VALUES] = {0};
	for (int i = 0; i < MW_VALUES; i++) {
		has_other |= other[i] != 0;
		if (columns[i] >= 0)
			rest[columns[i]] = other[i];
	}
	if (has_other) {
		uint32_t word = add_word(g.profile, "[other]");
		mw_profile_add_sample(g.profile, &word, 1, rest, NULL, 0);
	}
	free(g.locations);
	free(g.frames);
	mw_table_clear(&g.files);
	return g.profile;
}
