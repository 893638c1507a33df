/* SPDX-License-Identifier: MIT
 * dump_view.h -- the image's stacks as the writers of dumps see them.
 * Layer: prof.  Between mw_image_hold() and mw_image_release(); lock-free, async-signal-safe.  The
 * process goes on meanwhile: each counter is read once, sums differ by the samples in between. */
#ifndef MW_PROF_DUMP_VIEW_H
#define MW_PROF_DUMP_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "prof/out.h"
#include "state/layout.h"

typedef struct mw_dump_counts {
	int64_t alloc_objects, alloc_bytes, inuse_objects, inuse_bytes;
} mw_dump_counts_t;

typedef struct mw_dump_stack {
	unsigned depth;         /* 0: unknown */
	uint32_t node;          /* of the leaf: see mw_depot_next_frame() */
	bool truncated;         /* callers are missing */
	mw_dump_counts_t sized; /* of requests for at least a byte */
	mw_dump_counts_t zero;  /* of requests for 0 bytes */
} mw_dump_stack_t;

/* The sample types that a dump has: all but PINNED_SPACE. */
enum {
#define MW_SAMPLE_TYPE(name, text, unit) MW_DUMP_##name,
#include "state/sample_types.def"
#undef MW_SAMPLE_TYPE
	MW_DUMP_TYPES = MW_DUMP_PINNED_SPACE,
	MW_DUMP_COMMON_TYPES = MW_DUMP_INUSE_SPACE + 1, /* those of mw_dump_counts_t */
};

/* Stacks, entry 0 ("unknown") included. */
uint64_t mw_dump_stack_count(void);
/* False: nothing was counted for this one. */
bool mw_dump_stack_at(uint64_t number, mw_dump_stack_t *stack);
/* The stack's other types, behind the common ones. */
void mw_dump_details_at(uint64_t number, int64_t values[MW_DUMP_TYPES]);
bool mw_dump_is_zero(const mw_dump_counts_t *counts);
uint64_t mw_dump_module_count(void);
const mw_state_module_t *mw_dump_module(uint64_t number);
/* Module of a frame + 1; 0: none. */
uint64_t mw_dump_frame_module(uint64_t frame);
/* The address to look up: inside the call, for a return address. */
uint64_t mw_dump_frame_address(uint64_t frame);

/* A stack's return addresses as a list of JSON, leaf first. */
void mw_dump_write_trace(mw_out_t *out, uint64_t number);

/* The formats.  False: no memory for the writer's own table. */
bool mw_dump_write_proto(mw_out_t *out);
bool mw_dump_write_heap_v2(mw_out_t *out);

#endif
