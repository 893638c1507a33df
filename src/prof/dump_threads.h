/* SPDX-License-Identifier: MIT
 * dump_threads.h -- which threads made what is live, by stack, for jemalloc's text.
 * Layer: prof.  Gathered from the live samples' records, beside those who write them: what a thread
 * allocated in all is not kept.  No lock, no malloc: async-signal-safe. */
#ifndef MW_PROF_DUMP_THREADS_H
#define MW_PROF_DUMP_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "prof/thread_table.h"

typedef struct mw_dump_share {
	int64_t objects_q16, bytes;
} mw_dump_share_t;

typedef struct mw_dump_threads mw_dump_threads_t;

/* NULL: no memory. */
mw_dump_threads_t *mw_dump_threads_gather(void);
void mw_dump_threads_drop(mw_dump_threads_t *threads);
const mw_thread_table_t *mw_dump_threads_table(const mw_dump_threads_t *threads);
/* Each thread's part in all stacks (UINT64_MAX) or in one, in the order of their entries; those
 * with nothing live in it are left out of the latter. */
void mw_dump_threads_visit(mw_dump_threads_t *threads, uint64_t stack,
			   void (*visit)(void *context, uint32_t entry, mw_dump_share_t share),
			   void *context);

#endif
