/* SPDX-License-Identifier: MIT
 * dump_view.h -- access to stacks and counters for the writers of dumps.
 * Layer: prof/dump. Lock-free, async-signal-safe. Other threads take samples meanwhile: each
 * counter is read once, and sums may differ by these samples. */
#ifndef MW_PROF_DUMP_DUMP_VIEW_H
#define MW_PROF_DUMP_DUMP_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "prof/dump/writer.h"
#include "state/layout.h"

typedef struct mw_dump_counts {
	int64_t alloc_objects, alloc_bytes, inuse_objects, inuse_bytes;
} mw_dump_counts_t;

typedef struct mw_dump_stack {
	unsigned depth;         /* number of frames; 0: the stack is unknown */
	uint32_t node;          /* node of the leaf: see mw_depot_next_frame() */
	bool truncated;         /* true: the outermost callers are missing */
	mw_dump_counts_t sized; /* requests for 1 byte or more */
	mw_dump_counts_t zero;  /* requests for 0 bytes */
} mw_dump_stack_t;

/* Sample types in a dump: all except PINNED_SPACE, and those of mappings only if there are any. */
enum {
#define MW_SAMPLE_TYPE(name, text, unit) MW_DUMP_##name,
#include "state/sample_types.def"
#undef MW_SAMPLE_TYPE
	MW_DUMP_TYPES = MW_DUMP_PINNED_SPACE,
	MW_DUMP_MAPPING_TYPES = MW_DUMP_INUSE_MAPPED - MW_DUMP_PINNED_SPACE,
	MW_DUMP_COMMON_TYPES = MW_DUMP_INUSE_SPACE + 1, /* types in mw_dump_counts_t */
};

/* Returns the number of stacks, including entry 0 ("unknown"). */
uint64_t mw_dump_stack_count(void);
/* Reads a stack. Returns false if nothing was counted for it, or if its counts are of mappings. */
bool mw_dump_stack_at(uint64_t number, mw_dump_stack_t *stack);
/* Reads a stack whose counts are of mappings. Returns false for others. Counts are in `sized`. */
bool mw_dump_mapping_at(uint64_t number, mw_dump_stack_t *stack);
bool mw_dump_has_mappings(void);
/* Reads the stack's other sample types, those behind the common ones. */
void mw_dump_details_at(uint64_t number, int64_t values[MW_DUMP_TYPES]);
bool mw_dump_is_zero(const mw_dump_counts_t *counts);
/* Largest number of modules (store.c). */
#define MW_DUMP_MODULES_MAX 4096u
uint64_t mw_dump_module_count(void);
const mw_state_module_t *mw_dump_module(uint64_t number);
/* Returns the frame's module + 1; 0: none. */
uint64_t mw_dump_frame_module(uint64_t frame);
/* Returns the address to look up: for a return address an address inside of the call. */
uint64_t mw_dump_frame_address(uint64_t frame);

/* Functions of scripts (state/script_frames.h), entry 0 included; 0: there are none. */
uint64_t mw_dump_function_count(void);
const mw_state_function_t *mw_dump_function(uint64_t number);
/* Copies a text of theirs without control characters. Returns its bytes; 0: it is not known. */
unsigned mw_dump_text(uint32_t number, char text[MW_TEXT_BYTES_MAX]);
/* Returns whether the module's frames are those of scripts; `module`: as mw_dump_frame_module(). */
bool mw_dump_is_script(uint64_t module);

/* Writes up to `max` return addresses of a stack, leaf first, and returns their number. */
unsigned mw_dump_return_addresses(uint64_t number, uint64_t *pcs, unsigned max);
/* Writes a stack's return addresses as a JSON list, leaf first. */
void mw_dump_write_trace(mw_writer_t *out, uint64_t number);

/* Writers of the formats. They return false if there is no memory for their tables. */
bool mw_dump_write_proto(mw_writer_t *out);
bool mw_dump_write_heap_v2(mw_writer_t *out);

#endif
