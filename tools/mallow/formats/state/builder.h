/* SPDX-License-Identifier: MIT
 * builder.h -- what profiles of the heap and of CPU time have in common: the process, its stacks
 * and threads.
 * Layer: formats/state.  Private to this folder. */
#ifndef MW_TOOL_FORMATS_STATE_BUILDER_H
#define MW_TOOL_FORMATS_STATE_BUILDER_H

#include <stddef.h>
#include <stdint.h>

#include "formats/state/groups.h"
#include "formats/state/state_file.h"
#include "model/profile.h"

typedef struct mw_builder {
	mw_profile_t *profile;
	const mw_snapshot_t *snapshot;
	uint32_t *mappings;  /* mappings[i]: number of the mapping of module i; 0 = not added yet */
	uint32_t *by_frame;  /* by_frame[i]: number of the location of frame i; 0 = not added yet */
	uint32_t *locations; /* locations of the current stack */
	/* Location that replaces a stack whose frames are not known; 0 = not added yet. */
	uint32_t unknown;
	uint32_t truncated;  /* location that replaces missing callers; 0 = not added yet */
	size_t depth;        /* frames of the current stack */
	uint32_t *functions; /* functions[i]: number of script function i; 0 = not added yet */
	/* snapshot.c: groups of the live samples, ordered by stack */
	mw_group_t *groups;
	size_t group_count, group_next;
	mw_string_t thread_name; /* name of thread_id; 0 = no name was looked up yet */
	uint32_t thread_id;
} mw_builder_t;

/* Fills in what is known of the process: names, pid, flags, time; and adds the comments that name
 * them.  The types of the profile are there already. */
void mw_builder_begin(mw_builder_t *builder, mw_profile_t *profile, const mw_snapshot_t *snapshot);
/* Frees the builder's memory. */
void mw_builder_end(mw_builder_t *builder);
/* Sets `locations` and `depth` to those of stack `number` of the snapshot. */
void mw_builder_take_stack(mw_builder_t *builder, uint32_t number);
/* Returns the location of an address in a module's data; in no module that is known: one without a
 * mapping. */
uint32_t mw_builder_data_location(mw_builder_t *builder, uint64_t address);
/* Returns a location that stands for a name alone. */
uint32_t mw_builder_named_location(mw_builder_t *builder, const char *name);
/* Returns a thread's name, or "thread N". */
mw_string_t mw_builder_thread_name(mw_builder_t *builder, uint32_t thread_id);

/* Numbers of the types of CPU samples, by mw_cpu_state_t; -1: the profile has no such type. */
typedef struct mw_builder_cpu_types {
	int of[MW_CPU_STATES];
	int first; /* the first one that there is */
} mw_builder_cpu_types_t;

/* Adds the types for which the snapshot has time or events: none if it was read without
 * MW_SNAPSHOT_CPU. */
mw_builder_cpu_types_t mw_builder_add_cpu_types(mw_profile_t *profile,
						const mw_snapshot_t *snapshot);
/* Adds the CPU samples.  If the profile's first type is "samples", that gets their number. */
void mw_builder_add_cpu(mw_builder_t *builder, mw_builder_cpu_types_t types);

static inline int64_t mw_clamped(uint64_t count) {
	return count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

/* Multiplies bytes by the weight of a record as the library does, with equal rounding. */
static inline int64_t mw_record_weigh(const mw_state_record_t *record, uint64_t bytes) {
	unsigned __int128 product = (unsigned __int128)record->weight_q16 * bytes + 32768;
	product >>= 16;
	return product > INT64_MAX ? INT64_MAX : (int64_t)product;
}

#endif
