/* SPDX-License-Identifier: MIT
 * park.h -- heaps of ended threads that wait, as they are, for the next thread.
 * Layer: heap.  The list is under the heaps lock (thread.c).
 *
 * A thread that ends would take its lists apart, with a look-up a block, and the next one build
 * them again.  So a heap that holds little is parked, lists and pages and all: to every other
 * thread it is the heap of one that sleeps.  What is parked is bounded, each heap and all, and for
 * how long: half as long as free slices are kept, so that its pages are purged in time as well. */
#ifndef MW_HEAP_PARK_H
#define MW_HEAP_PARK_H

#include <stdatomic.h>

#include "heap/heap.h"
#include "os/clock.h"

/* What a heap's pages may have touched.  A thread of a server that starts one for each request has
 * a kernel page or two of some 25 classes; what is more belongs to others soon, as orphans. */
#define MW_PARK_HEAP_BYTES ((size_t)192 << 10)
/* Of all: as much as is kept of free slices at the least (decay.h). */
#define MW_PARK_TOTAL_BYTES ((size_t)1 << 20)

extern mw_heap_t *mw_park_first;
/* When the first that waits has waited long enough, by the coarse clock; UINT64_MAX: none does.
 * Relaxed: a late look is as good. */
extern _Atomic uint64_t mw_park_due_ns;
/* Sets room aside for the calling thread's heap.  False: it holds too much, or something of the
 * thread's own. */
bool mw_park_begin(mw_heap_t *heap);
/* It is put into the state in which it waits: from here on nothing of it is touched.  Ends the
 * program when a list has no end. */
void mw_park_save(mw_heap_t *heap);
/* Under the lock: into the list, and out of it.  NULL: there is none of this node. */
void mw_park_put(mw_heap_t *heap);
MW_NOINLINE mw_heap_t *mw_park_take_slow(void);
static inline mw_heap_t *mw_park_take(void) {
	return MW_UNLIKELY(mw_park_first != NULL) ? mw_park_take_slow() : NULL;
}
/* The one that has waited longest; NULL: there is none, or not for long enough. */
mw_heap_t *mw_park_take_oldest(bool due_only);
static inline bool mw_park_is_due(void) {
	uint64_t due = atomic_load_explicit(&mw_park_due_ns, memory_order_relaxed);
	return MW_UNLIKELY(due != UINT64_MAX) && mw_os_monotonic_coarse_ns() >= due;
}
/* The heap that was taken becomes the calling thread's, which has none. */
void mw_park_resume(mw_heap_t *heap);
/* Room that was set aside by threads that did not come over. */
void mw_park_fork_child(void);

#endif
