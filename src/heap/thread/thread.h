/* SPDX-License-Identifier: MIT
 * thread.h -- the heaps of all threads: which thread gets one, what becomes of it, and fork(2).
 * Layer: heap.  One lock (MW_RANK_HEAPS) for the list of heaps.
 *
 * Door of heap/thread.  Reading order: thread, flush (empties a thread's lists), cached_heap (heaps
 * of ended threads), shed (the pages that these keep), binding (a thread allocates from an arena),
 * maintain (gives memory back to the kernel; the background thread), verify (walks that find
 * damage).  Uses all of heap below heap/core. */
#ifndef MW_HEAP_THREAD_H
#define MW_HEAP_THREAD_H

#include "heap/layout/page.h"
#include "heap/local/heap.h"
#include "os/lock/lock.h"

/* The calling thread's heap, made on first use; NULL: no memory. */
mw_heap_t *mw_heap_self(void);
/* Ends the calling thread's use of its heap: the heap is cached for the next thread, or its pages
 * are abandoned (heap/thread/cached_heap.h).  A thread that allocates afterwards gets a heap again,
 * which it ends itself after each allocation (mw_thread.ended). */
void mw_heap_thread_end(void);
/* Called once for each thread that gets a heap, so that the caller can arrange that
 * mw_heap_thread_end() is called at the thread's end.  Set before threads exist. */
extern void (*mw_heap_on_thread)(mw_heap_t *heap);
/* Takes apart cached heaps: all of them, or those that were cached for long enough. */
MW_COLD void mw_heap_abandon_cached(bool due_only);
/* The calling thread takes a changed sampling rate over at once: its tcache lists are emptied.
 * Otherwise it does so at the end of each list. */
void mw_heap_take_rate(void);

/* Calls `visit` with the thread pointer of each thread that has a heap, as a range of one byte: the
 * C library puts it at the top of the thread's stack.  Leaves out the program's first thread, whose
 * thread pointer is elsewhere. */
MW_COLD void mw_heap_visit_threads(void (*visit)(uintptr_t start, uintptr_t limit, unsigned kind));
/* Adds up the counts of all heaps.  Numbers of other threads may be some refills, or a step of the
 * sampler, late. */
MW_COLD void mw_heap_sum_counts(mw_heap_counts_t *sum);
/* Heaps made so far, and threads that have one. */
typedef struct mw_heap_numbers {
	size_t heaps, live_threads;
} mw_heap_numbers_t;
mw_heap_numbers_t mw_heap_numbers(void);
/* Returns the newest heap; next_all leads to the older ones. No heap ever goes away. Without the
 * lock: no other thread runs. */
MW_COLD const mw_heap_t *mw_heap_newest(void);
/* The lock of the list of heaps, for its statistics. */
mw_lock_t *mw_heap_threads_lock(void);

/* fork(2): prepare takes all locks of the heap in rank order, parent and child release them.  In
 * the child the other threads' pages stay as they are: blocks that are freed into them are not
 * reused (doc/ARCHITECTURE.md, "Fork"). */
void mw_heap_fork_prepare(void);
void mw_heap_fork_parent(void);
void mw_heap_fork_child(void);

#endif
