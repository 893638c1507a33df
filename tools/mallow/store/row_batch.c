/* SPDX-License-Identifier: MIT
 * row_batch.c -- takes profiles apart, and puts rows together. */
#include "store/row_batch.h"

#include <stdlib.h>
#include <string.h>

#include "model/memory.h"

/* Odd constants with well-spread bits: fractions of the square roots of 2 and 5. */
#define MIX_1 0x6a09e667f3bcc909u
#define MIX_2 0x3c6ef372fe94f82bu

/* Folds the 128-bit product, so that every input bit affects every bit of the result. */
static uint64_t mix(uint64_t a, uint64_t b) {
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t mw_row_hash(uint64_t seed, const void *bytes, size_t length) {
	const unsigned char *at = bytes;
	uint64_t hash = mix(seed ^ length ^ MIX_1, MIX_2);
	for (size_t i = 0; i < length; i += 8) {
		uint64_t word = 0;
		/* Byte by byte, so that the number does not depend on the machine's order. */
		for (size_t k = 0; k < 8 && i + k < length; k++)
			word |= (uint64_t)at[i + k] << (8 * k);
		hash = mix(hash ^ word, MIX_1) + MIX_2;
	}
	return mix(hash ^ length, MIX_2);
}

static uint64_t hash_number(uint64_t seed, uint64_t number) {
	unsigned char bytes[8];
	for (size_t k = 0; k < 8; k++)
		bytes[k] = (unsigned char)(number >> (8 * k));
	return mw_row_hash(seed, bytes, sizeof(bytes));
}

static uint64_t hash_text(uint64_t seed, const char *text) {
	return mw_row_hash(seed, text, strlen(text));
}

mw_batch_t *mw_batch_new(void) {
	mw_batch_t *batch = mw_xcalloc(1, sizeof(*batch));
	batch->texts = mw_profile_new();
	return batch;
}

void mw_batch_free(mw_batch_t *batch) {
	if (batch == NULL)
		return;
	free(batch->samples);
	free(batch->stacks);
	free(batch->frames);
	free(batch->locations);
	free(batch->lines);
	mw_table_clear(&batch->samples_by_id);
	mw_table_clear(&batch->stacks_by_id);
	mw_table_clear(&batch->locations_by_id);
	mw_profile_free(batch->texts);
	free(batch);
}

static bool is_sample(const void *context, uint32_t entry, const void *key) {
	return ((const mw_batch_t *)context)->samples[entry - 1].stack == *(const uint64_t *)key;
}

static bool is_stack(const void *context, uint32_t entry, const void *key) {
	return ((const mw_batch_t *)context)->stacks[entry - 1].id == *(const uint64_t *)key;
}

static bool is_location(const void *context, uint32_t entry, const void *key) {
	return ((const mw_batch_t *)context)->locations[entry - 1].id == *(const uint64_t *)key;
}

static uint32_t find(const mw_table_t *table, mw_table_equal_fn equal, const mw_batch_t *batch,
		     uint64_t id) {
	return mw_table_find(table, mw_table_hash(&id, sizeof(id)), equal, batch, &id);
}

mw_row_sample_t *mw_batch_sample(const mw_batch_t *batch, uint64_t stack) {
	uint32_t entry = find(&batch->samples_by_id, is_sample, batch, stack);
	return entry != 0 ? &batch->samples[entry - 1] : NULL;
}

const mw_row_stack_t *mw_batch_stack(const mw_batch_t *batch, uint64_t id) {
	uint32_t entry = find(&batch->stacks_by_id, is_stack, batch, id);
	return entry != 0 ? &batch->stacks[entry - 1] : NULL;
}

const mw_row_location_t *mw_batch_location(const mw_batch_t *batch, uint64_t id) {
	uint32_t entry = find(&batch->locations_by_id, is_location, batch, id);
	return entry != 0 ? &batch->locations[entry - 1] : NULL;
}

int64_t mw_row_sum(int64_t a, int64_t b) {
	int64_t sum;
	if (__builtin_add_overflow(a, b, &sum))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

void mw_batch_add_sample(mw_batch_t *batch, uint64_t stack, const int64_t values[MW_VALUES]) {
	mw_row_sample_t *sample = mw_batch_sample(batch, stack);
	if (sample == NULL) {
		batch->samples = mw_grow(batch->samples, &batch->sample_capacity,
					 batch->sample_count + 1, sizeof(*batch->samples));
		sample = &batch->samples[batch->sample_count++];
		sample->stack = stack;
		mw_table_add(&batch->samples_by_id, mw_table_hash(&stack, sizeof(stack)),
			     (uint32_t)batch->sample_count);
	}
	for (int i = 0; i < MW_VALUES; i++)
		sample->values[i] = mw_row_sum(sample->values[i], values[i]);
}

/* Order of samples for mw_batch_cut(): the value that it compares. */
static int cut_value;

static int compare_samples(const void *a, const void *b) {
	const mw_row_sample_t *x = a, *y = b;
	uint64_t p = x->values[cut_value] < 0 ? -(uint64_t)x->values[cut_value]
					      : (uint64_t)x->values[cut_value];
	uint64_t q = y->values[cut_value] < 0 ? -(uint64_t)y->values[cut_value]
					      : (uint64_t)y->values[cut_value];
	if (p != q)
		return p > q ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

void mw_batch_cut(mw_batch_t *batch, int value, size_t most, int64_t other[MW_VALUES]) {
	if (batch->sample_count <= most)
		return;
	cut_value = value;
	qsort(batch->samples, batch->sample_count, sizeof(*batch->samples), compare_samples);
	for (size_t i = most; i < batch->sample_count; i++)
		for (int k = 0; k < MW_VALUES; k++)
			other[k] = mw_row_sum(other[k], batch->samples[i].values[k]);
	batch->sample_count = most;
	mw_table_clear(&batch->samples_by_id);
	for (size_t i = 0; i < most; i++)
		mw_table_add(&batch->samples_by_id,
			     mw_table_hash(&batch->samples[i].stack, sizeof(uint64_t)),
			     (uint32_t)i + 1);
}

bool mw_batch_add_stack(mw_batch_t *batch, uint64_t id, const uint64_t *locations, size_t depth) {
	if (mw_batch_stack(batch, id) != NULL)
		return false;
	if (depth > MW_READ_DEPTH_MAX)
		depth = MW_READ_DEPTH_MAX;
	batch->frames = mw_grow(batch->frames, &batch->frame_capacity, batch->frame_count + depth,
				sizeof(*batch->frames));
	if (depth > 0)
		memcpy(batch->frames + batch->frame_count, locations, depth * sizeof(*locations));
	batch->stacks = mw_grow(batch->stacks, &batch->stack_capacity, batch->stack_count + 1,
				sizeof(*batch->stacks));
	batch->stacks[batch->stack_count++] = (mw_row_stack_t){
		.id = id, .frame_first = batch->frame_count, .depth = (uint32_t)depth};
	batch->frame_count += depth;
	mw_table_add(&batch->stacks_by_id, mw_table_hash(&id, sizeof(id)),
		     (uint32_t)batch->stack_count);
	return true;
}

static const char *keep(mw_batch_t *batch, const char *text) {
	return mw_profile_string(batch->texts, mw_profile_intern(batch->texts, text));
}

bool mw_batch_add_location(mw_batch_t *batch, const mw_row_location_t *location,
			   const mw_row_line_t *lines) {
	if (mw_batch_location(batch, location->id) != NULL)
		return false;
	batch->lines = mw_grow(batch->lines, &batch->line_capacity,
			       batch->line_count + location->line_count, sizeof(*batch->lines));
	batch->locations = mw_grow(batch->locations, &batch->location_capacity,
				   batch->location_count + 1, sizeof(*batch->locations));
	mw_row_location_t *to = &batch->locations[batch->location_count++];
	*to = *location;
	to->build_id = keep(batch, location->build_id);
	to->path = keep(batch, location->path);
	to->line_first = batch->line_count;
	for (uint32_t i = 0; i < location->line_count; i++)
		batch->lines[batch->line_count++] = (mw_row_line_t){
			.function = keep(batch, lines[i].function),
			.system_name = keep(batch, lines[i].system_name),
			.file = keep(batch, lines[i].file),
			.line = lines[i].line,
			.start_line = lines[i].start_line,
		};
	mw_table_add(&batch->locations_by_id, mw_table_hash(&location->id, sizeof(location->id)),
		     (uint32_t)batch->location_count);
	return true;
}

/* Work on one profile. */
typedef struct taking {
	const mw_profile_t *profile;
	mw_batch_t *batch;
	uint64_t *ids; /* number of each of the profile's locations; 0 = not taken yet */
	mw_row_line_t *lines;
	uint64_t *frames;
	size_t line_capacity, frame_capacity;
	int types[MW_VALUES]; /* -1: the profile has no such type */
} taking_t;

static uint64_t hash_lines(uint64_t hash, const mw_row_line_t *lines, uint32_t count) {
	for (uint32_t i = 0; i < count; i++) {
		hash = hash_text(hash, lines[i].function);
		hash = hash_text(hash, lines[i].file);
		hash = hash_number(hash, (uint64_t)lines[i].line);
	}
	return hash;
}

/* An address says nothing about another process where the file has no build-id and the function a
 * name: code of scripts, of the kernel, generated code. */
static uint64_t number_of(const mw_row_location_t *l, const mw_row_line_t *lines) {
	uint64_t hash = hash_text(0, l->build_id);
	hash = hash_number(hash, l->flags);
	if (l->build_id[0] != '\0')
		return hash_number(hash, l->offset) | 1;
	hash = hash_text(hash, l->path);
	if (l->line_count == 0)
		return hash_number(hash, l->offset) | 1;
	return hash_lines(hash, lines, l->line_count) | 1;
}

void mw_row_lines_of(const mw_profile_t *p, const mw_location_t *location, mw_row_line_t *lines) {
	for (uint32_t i = 0; i < location->line_count; i++) {
		const mw_line_t *line = &p->lines[location->line_first + i];
		const mw_function_t *f = &p->functions[line->function];
		lines[i] = (mw_row_line_t){
			.function = mw_profile_string(p, f->name),
			.system_name = mw_profile_string(p, f->system_name),
			.file = mw_profile_string(p, f->file),
			.line = line->line,
			.start_line = f->start_line,
		};
	}
}

static uint64_t take_location(taking_t *t, uint32_t number) {
	const mw_profile_t *p = t->profile;
	const mw_location_t *from = &p->locations[number];
	const mw_mapping_t *mapping = &p->mappings[from->mapping];
	if (t->ids[number] != 0)
		return t->ids[number];
	mw_row_location_t location = {
		.build_id = mw_profile_string(p, mapping->build_id),
		.path = mw_profile_string(p, mapping->path),
		.offset = from->address - mapping->start + mapping->offset,
		.flags = (from->is_exact ? MW_LOCATION_EXACT : 0u) |
			 (from->is_folded ? MW_LOCATION_FOLDED : 0u),
		.line_count = from->line_count,
	};
	t->lines = mw_grow(t->lines, &t->line_capacity, from->line_count, sizeof(*t->lines));
	mw_row_lines_of(p, from, t->lines);
	location.id = number_of(&location, t->lines);
	if (location.build_id[0] == '\0' && location.line_count > 0)
		location.offset = 0;
	mw_batch_add_location(t->batch, &location, t->lines);
	return t->ids[number] = location.id;
}

static void take_sample(taking_t *t, size_t number) {
	const mw_sample_t *sample = &t->profile->samples[number];
	const int64_t *from = mw_profile_values(t->profile, number);
	int64_t values[MW_VALUES];
	bool is_empty = true;
	for (int i = 0; i < MW_VALUES; i++) {
		values[i] = t->types[i] >= 0 ? from[t->types[i]] : 0;
		is_empty &= values[i] == 0;
	}
	if (is_empty)
		return;
	t->frames = mw_grow(t->frames, &t->frame_capacity, sample->depth, sizeof(*t->frames));
	uint64_t id = hash_number(0, sample->depth);
	for (uint32_t i = 0; i < sample->depth; i++) {
		t->frames[i] = take_location(t, t->profile->frames[sample->frame_first + i]);
		id = hash_number(id, t->frames[i]);
	}
	mw_batch_add_stack(t->batch, id, t->frames, sample->depth);
	mw_batch_add_sample(t->batch, id, values);
}

mw_batch_t *mw_batch_of(const mw_profile_t *profile, mw_kind_t kind) {
	const mw_kind_values_t *k = mw_kind_values(kind);
	taking_t t = {.profile = profile, .batch = mw_batch_new()};
	t.ids = mw_xcalloc(profile->location_count + 1, sizeof(*t.ids));
	for (int i = 0; i < MW_VALUES; i++)
		t.types[i] = k->values[i].type != NULL
				     ? mw_profile_find_type(profile, k->values[i].type)
				     : -1;
	/* Samples of a CPU profile with several types are counted where the kind's own value is. */
	for (size_t i = 0; i < profile->sample_count; i++) {
		int own = t.types[k->standard];
		bool counts_time = k->values[MW_VALUE_NOW_COUNT].type == NULL;
		if (!counts_time || (own >= 0 && mw_profile_values(profile, i)[own] != 0))
			take_sample(&t, i);
	}
	free(t.ids);
	free(t.lines);
	free(t.frames);
	return t.batch;
}
