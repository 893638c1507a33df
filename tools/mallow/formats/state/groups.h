/* SPDX-License-Identifier: MIT
 * groups.h -- live samples of a snapshot, added up by stack, thread, size and age, and on
 * demand by the time of their allocation.
 * Layer: formats/state.  Private to this folder. */
#ifndef MW_TOOL_FORMATS_STATE_GROUPS_H
#define MW_TOOL_FORMATS_STATE_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/state/state_file.h"

/* Samples of one group.  Weights are applied. */
typedef struct mw_group {
	uint32_t stack;
	uint32_t thread_id;
	uint64_t usable_bytes; /* size of each object */
	bool zero_request;     /* the program requested 0 bytes */
	unsigned age;          /* age at the snapshot's time: a decade of MW_LIFE_* */
	int64_t made_ns; /* time of the allocation by CLOCK_REALTIME; 0 unless snapshot->keeps_times
			  */
	uint64_t address; /* 0 unless snapshot->keeps_addresses and the block is large */
	int64_t objects_q16;
	int64_t bytes;
	int64_t requested_bytes;
	int64_t samples;
} mw_group_t;

/* Returns the groups ordered by stack; the caller frees the array.  A snapshot without
 * MW_SNAPSHOT_RECORDS has no groups. */
mw_group_t *mw_group_records(const mw_snapshot_t *snapshot, size_t *count);

#endif
