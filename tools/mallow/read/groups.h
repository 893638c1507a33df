/* SPDX-License-Identifier: MIT
 * groups.h -- the live samples of a snapshot, summed up by stack, thread and size.
 * Layer: tools/read.  Private to this folder. */
#ifndef MW_TOOL_READ_GROUPS_H
#define MW_TOOL_READ_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/state_file.h"

/* Weights applied. */
typedef struct mw_group {
	uint32_t stack;
	uint32_t thread_id;
	uint64_t usable_bytes; /* of each object */
	bool zero_request;     /* asked for with 0 bytes */
	unsigned age;          /* at the snapshot's time, by the decades of MW_LIFE_* */
	int64_t objects_q16;
	int64_t bytes;
	int64_t requested_bytes;
	int64_t samples;
} mw_group_t;

/* In the order of their stacks; the caller frees.  Empty without MW_SNAPSHOT_RECORDS. */
mw_group_t *mw_group_records(const mw_snapshot_t *snapshot, size_t *count);

#endif
