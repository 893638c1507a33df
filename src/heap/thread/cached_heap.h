/* SPDX-License-Identifier: MIT
 * cached_heap.h -- heaps of ended threads, which the next threads go on with.
 * Layer: heap.  The list of cached heaps is under the heaps lock (thread.c).
 *
 * An ending thread leaves its heap with its tcache lists, uncounted, and with the pages that
 * the next thread needs first; it abandons the other pages, and the short lists above tiny with
 * them. No step takes time for each block of a page.  To every other thread a cached heap is the
 * heap of a thread that sleeps.  The bytes of each cached heap, the bytes of all of them, and the
 * time they are kept are bounded.  The time is half of that for which free slices are kept, so that
 * the pages of cached heaps are purged in time as well. Beyond the bounds, and when the time is
 * over, a heap is taken apart: its lists return to their pages, block by block, and all pages are
 * abandoned. */
#ifndef MW_HEAP_REMOTE_CACHED_HEAP_H
#define MW_HEAP_REMOTE_CACHED_HEAP_H

#include "heap/layout/page.h"
#include "os/time/clock.h"

/* A cached heap keeps the first page of each class, and others until so many bytes of the pages
 * were ever touched.  A thread of a server that starts one for each request has a kernel page or
 * two of some 25 classes. */
#define MW_CACHED_HEAP_BYTES ((size_t)1 << 20)
/* Most touched bytes of all cached heaps. */
#define MW_CACHED_HEAPS_BYTES ((size_t)8 << 20)

/* The heap cached last; the others follow in next_free. */
extern mw_heap_t *mw_cached_heaps;

/* Abandons the pages of the calling thread's heap that it does not keep, and makes room for the
 * others.  False: the heap is bound to an arena, or its lists have limits or a rate of the thread's
 * own, or it keeps nothing, or there is no room. */
bool mw_cached_heap_begin(mw_heap_t *heap);
/* Moves the calling thread's lists into the heap, which no thread touches from then on. */
void mw_cached_heap_save(mw_heap_t *heap);
/* Under the lock: puts the heap into the list; takes one out of it.  NULL: there is no cached heap
 * of this node. */
void mw_cached_heap_put(mw_heap_t *heap);
MW_NOINLINE mw_heap_t *mw_cached_heap_take_slow(void);
static inline mw_heap_t *mw_cached_heap_take(void) {
	return MW_UNLIKELY(mw_cached_heaps != NULL) ? mw_cached_heap_take_slow() : NULL;
}
/* Under the lock: takes the heap that was cached first; NULL: there is none, or `due_only` and it
 * was not cached for long enough. */
mw_heap_t *mw_cached_heap_take_oldest(bool due_only);
/* The calling thread takes over the heap's lists, with their limits. */
void mw_cached_heap_resume(mw_heap_t *heap);
/* Counts the cached heaps again in the child of a fork, because threads between begin and put do
 * not exist there. */
void mw_cached_heap_fork_child(void);

/* Time at which the heap that was cached first is due to be taken apart, by the coarse clock;
 * UINT64_MAX: there is none.  Relaxed, read without the lock: the value may be late. */
extern _Atomic uint64_t mw_cached_heap_due_ns;
static inline bool mw_cached_heaps_wait(void) {
	return atomic_load_explicit(&mw_cached_heap_due_ns, memory_order_relaxed) != UINT64_MAX;
}
static inline bool mw_cached_heap_is_due(void) {
	uint64_t due_ns = atomic_load_explicit(&mw_cached_heap_due_ns, memory_order_relaxed);
	return due_ns <= mw_os_monotonic_coarse_ns();
}

#endif
