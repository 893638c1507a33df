/* SPDX-License-Identifier: MIT
 * guarded.h -- sampled blocks between pages that nobody may touch: overflows, underflows, uses
 * after free and double frees of them are reported with the stacks of all who were involved. Layer:
 * heap.  A pool of slots, each a page for one block and a guard page on either side; a freed slot's
 * page is taken away as well, and slots are used again in the order they were freed.  One lock
 * (MW_RANK_GUARDED).  Design and cost: doc/user/guarded-sampling.md. */
#ifndef MW_HEAP_GUARDED_H
#define MW_HEAP_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/layout/record.h"

/* Frames kept of each stack: enough to tell where one is. */
#define MW_GUARDED_DEPTH 32u

/* What the pool asks of whoever knows stacks.  Both async-signal-safe, neither allocates. */
typedef struct mw_guarded_config {
	uint64_t every;  /* each so many samples one is guarded... */
	uint64_t gap_ns; /* ...but none sooner than this after another */
	/* The calling thread's stack, leaf first, without the library's frames; in a signal
	 * handler, from what the signal interrupted.  Returns the depth. */
	unsigned (*take_stack)(uint64_t *pcs, unsigned max_depth, bool in_handler);
	/* Says where a PC of such a stack is, for people. */
	void (*name_place)(uint64_t pc, char *buffer, size_t capacity);
} mw_guarded_config_t;

/* Makes the pool and looks at SIGSEGV from now on.  Once, before threads.  False: refused, and no
 * sample is ever guarded. */
bool mw_guarded_start(const mw_guarded_config_t *config);

/* A block for a sample that is to be guarded; NULL for most: take an ordinary one. */
void *mw_guarded_take(size_t class_bytes, size_t requested_bytes);
void mw_guarded_bind(void *block, mw_record_id_t record);
/* `block` lies in the pool.  Both end the program, with a report, when it is not a live block, and
 * the former when something was written beside it.  Returns the record; *class_bytes: as taken. */
mw_record_id_t mw_guarded_give(void *block, size_t *class_bytes);
size_t mw_guarded_usable_bytes(const char *function, const void *block);

typedef struct mw_guarded_stats {
	uint64_t live, taken;
} mw_guarded_stats_t;
mw_guarded_stats_t mw_guarded_stats(void);

void mw_guarded_fork_prepare(void);
void mw_guarded_fork_release(bool in_child);

#endif
