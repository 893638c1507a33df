/* SPDX-License-Identifier: MIT
 * guarded.h -- sampled blocks between guard pages: overflows, underflows, uses after free and
 * double frees of these blocks are reported with the stacks of all threads involved.
 * Layer: heap.  A pool of slots; each is a page for one block, with a guard page on either
 * side.  The page of a freed slot is protected as well.  Slots are used again in the order they
 * were freed.  One lock (MW_RANK_GUARDED).  Design and cost: doc/user/guarded-sampling.md. */
#ifndef MW_HEAP_GUARDED_H
#define MW_HEAP_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "heap/layout/record.h"

/* Frames kept of each stack: enough to identify a place in the program. */
#define MW_GUARDED_DEPTH 32u

/* Settings of the pool, and two functions of the layer that knows stacks.  Both functions are
 * async-signal-safe and do not allocate. */
typedef struct mw_guarded_config {
	uint64_t every;  /* one sample in this many is guarded... */
	uint64_t gap_ns; /* ...but none within this time after another */
	/* Writes the calling thread's stack, leaf first, without the library's frames; in a signal
	 * handler, the stack that the signal interrupted.  Returns the depth. */
	unsigned (*take_stack)(uint64_t *pcs, unsigned max_depth, bool in_handler);
	/* Writes a readable name for a PC of such a stack. */
	void (*name_place)(uint64_t pc, char *buffer, size_t capacity);
} mw_guarded_config_t;

/* Makes the pool and handles SIGSEGV from now on.  Called once, before threads exist.  False: the
 * kernel refused, and no sample is ever guarded. */
bool mw_guarded_start(const mw_guarded_config_t *config);

/* Returns a block for a sample that is to be guarded.  NULL, for most samples: the caller takes an
 * ordinary slot. */
void *mw_guarded_take(size_t class_bytes, size_t requested_bytes);
void mw_guarded_bind(void *block, mw_record_id_t record);
/* Frees a block of the pool, and returns its record and in *class_bytes the size it was taken with.
 * Ends the program, with a report, when `block` is not a live block or something was written beside
 * it. */
mw_record_id_t mw_guarded_give(void *block, size_t *class_bytes);
/* Returns the record of the live block at the address, which may be any word; 0: there is none. */
mw_record_id_t mw_guarded_record(const void *address);
size_t mw_guarded_usable_bytes(const char *function, const void *block);
/* Returns the bytes of the size class that the block would have lain in. */
size_t mw_guarded_class_bytes(const char *function, const void *block);

/* Visits the live blocks of the pool, without its lock: no other thread runs. */
MW_COLD void mw_guarded_visit_live(void (*visit)(uintptr_t start, size_t bytes));
/* Visits the pool and the table of its slots, if they are there. */
MW_COLD void mw_guarded_visit_memory(void (*visit)(uintptr_t start, uintptr_t limit));

typedef struct mw_guarded_stats {
	uint64_t live, taken;
} mw_guarded_stats_t;
mw_guarded_stats_t mw_guarded_stats(void);

void mw_guarded_fork_prepare(void);
void mw_guarded_fork_release(bool in_child);

#endif
