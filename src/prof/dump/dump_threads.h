/* SPDX-License-Identifier: MIT
 * dump_threads.h -- sums of live blocks by stack and thread, for jemalloc's text format.
 * Layer: prof/dump. The sums are made from the records of live samples while other threads write
 * them. The bytes that a thread has allocated in total are not known. No lock, no malloc:
 * async-signal-safe. */
#ifndef MW_PROF_DUMP_DUMP_THREADS_H
#define MW_PROF_DUMP_DUMP_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "prof/sample/thread_table.h"

typedef struct mw_dump_share {
	int64_t objects_q16, bytes;
} mw_dump_share_t;

typedef struct mw_dump_threads mw_dump_threads_t;

/* Returns NULL if there is no memory. */
mw_dump_threads_t *mw_dump_threads_gather(void);
void mw_dump_threads_drop(mw_dump_threads_t *threads);
const mw_thread_table_t *mw_dump_threads_table(const mw_dump_threads_t *threads);
/* Visits each thread's share of all stacks (UINT64_MAX) or of one stack, in the order of the thread
 * entries. Threads without live blocks there are left out. */
void mw_dump_threads_visit(mw_dump_threads_t *threads, uint64_t stack,
			   void (*visit)(void *context, uint32_t entry, mw_dump_share_t share),
			   void *context);

#endif
