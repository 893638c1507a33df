/* SPDX-License-Identifier: MIT
 * row_batch.h -- a profile taken apart as stores keep it: samples, stacks and locations with
 * numbers that are the same in every process; and a profile made of these. Layer: store. A
 * location's number is a hash of the file's build-id and the offset in the file; without a
 * build-id, of the path and the names, too.  A stack's number is a hash of its locations' numbers.
 * The hash is public: who may write into a store can make two stacks one.
 * Rows that are read may be hostile: no number is trusted, and what a stack lacks is shown as
 * missing. */
#ifndef MW_TOOL_STORE_ROW_BATCH_H
#define MW_TOOL_STORE_ROW_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"
#include "model/table.h"
#include "store/kind.h"

/* One function of a location, the innermost inlined one first.  No text is NULL. */
typedef struct mw_row_line {
	const char *function, *system_name, *file;
	int64_t line, start_line;
} mw_row_line_t;

/* Flags of a location. */
enum { MW_LOCATION_EXACT = 1, MW_LOCATION_FOLDED = 2 };

typedef struct mw_row_location {
	uint64_t id;
	const char *build_id, *path; /* "" = not known */
	uint64_t offset;             /* in the file */
	uint32_t flags;
	uint32_t line_count; /* 0 = no names */
	size_t line_first;   /* in batch->lines */
} mw_row_location_t;

typedef struct mw_row_stack {
	uint64_t id;
	size_t frame_first; /* in batch->frames: numbers of locations, the leaf first */
	uint32_t depth;
} mw_row_stack_t;

typedef struct mw_row_sample {
	uint64_t stack;
	int64_t values[MW_VALUES];
} mw_row_sample_t;

/* Each number occurs once.  Texts belong to `texts`. */
typedef struct mw_batch {
	mw_row_sample_t *samples;
	size_t sample_count;
	mw_row_stack_t *stacks;
	size_t stack_count;
	uint64_t *frames;
	size_t frame_count;
	mw_row_location_t *locations;
	size_t location_count;
	mw_row_line_t *lines;
	size_t line_count;

	mw_profile_t *texts;
	/* Private: find entries by number; an entry is its place plus 1. */
	mw_table_t samples_by_id, stacks_by_id, locations_by_id;
	size_t sample_capacity, stack_capacity, frame_capacity, location_capacity, line_capacity;
} mw_batch_t;

mw_batch_t *mw_batch_new(void);
void mw_batch_free(mw_batch_t *batch); /* NULL is allowed */

/* Takes the samples of `kind` apart.  Samples without any value are left out. */
mw_batch_t *mw_batch_of(const mw_profile_t *profile, mw_kind_t kind);

/* Fills in the lines of a profile's location, `line_count` of them.  Their texts are the profile's.
 */
void mw_row_lines_of(const mw_profile_t *profile, const mw_location_t *location,
		     mw_row_line_t *lines);
/* Gives a profile's location these lines.  Texts are copied. */
void mw_row_lines_set(mw_profile_t *profile, uint32_t location, const mw_row_line_t *lines,
		      uint32_t count);

/* Adds values to the sample of a stack.  Sums stay within int64_t. */
void mw_batch_add_sample(mw_batch_t *batch, uint64_t stack, const int64_t values[MW_VALUES]);
/* Adds a stack or a location unless its number is there.  Texts and numbers are copied.  False: it
 * was there. */
bool mw_batch_add_stack(mw_batch_t *batch, uint64_t id, const uint64_t *locations, size_t depth);
bool mw_batch_add_location(mw_batch_t *batch, const mw_row_location_t *location,
			   const mw_row_line_t *lines);
/* Keeps the `most` samples with the largest absolute `value`, of equal ones those of the smaller
 * stack, and adds the values of all others to `other`. */
void mw_batch_cut(mw_batch_t *batch, int value, size_t most, int64_t other[MW_VALUES]);
/* NULL: it is not there. */
mw_row_sample_t *mw_batch_sample(const mw_batch_t *batch, uint64_t stack);
const mw_row_stack_t *mw_batch_stack(const mw_batch_t *batch, uint64_t id);
const mw_row_location_t *mw_batch_location(const mw_batch_t *batch, uint64_t id);

/* Makes a profile of the kind's types.  Stacks and locations that the batch lacks are one frame
 * "[missing]".  `other`, unless all its values are 0, is a sample of one frame "[other]". */
mw_profile_t *mw_profile_of_batch(const mw_batch_t *batch, mw_kind_t kind,
				  const int64_t other[MW_VALUES]);

/* Returns the sum, or the nearest number of int64_t. */
int64_t mw_row_sum(int64_t a, int64_t b);
/* The hash of the numbers, the same on every machine. */
uint64_t mw_row_hash(uint64_t seed, const void *bytes, size_t length);

#endif
