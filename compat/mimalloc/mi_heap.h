/* SPDX-License-Identifier: MIT
 * mi_heap.h -- mi_heap_t: an arena of libmallow, and lists of its blocks for the thread that
 * created the heap.  Heaps are found by the number of their arena. Layer: compat/mimalloc. */
#ifndef MW_COMPAT_MIMALLOC_MI_HEAP_H
#define MW_COMPAT_MIMALLOC_MI_HEAP_H

#include <stdatomic.h>

#include "compat/mimalloc/mimalloc.h"

typedef enum mw_mi_heap_state {
	MW_MI_HEAP_NONE,    /* the arena is destroyed */
	MW_MI_HEAP_LIVE,    /* the program has the heap */
	MW_MI_HEAP_DELETED, /* the program deleted the heap; blocks of it are live */
	MW_MI_HEAP_ENDING,  /* a thread checks whether the last of these blocks is gone */
} mw_mi_heap_state_t;

/* Lives in metadata memory and is used again by the next heap whose arena has the same number. */
struct mi_heap_s {
	struct mw_arena_lists *lists; /* NULL: the main heap */
	unsigned number;              /* number of the arena; 0: the main heap */
	int tag;
	bool may_be_destroyed;
	_Atomic int state; /* mw_mi_heap_state_t */
};

/* All blocks of malloc() and mi_malloc(), of all threads. */
extern mi_heap_t mw_mi_main_heap;

/* Makes a heap whose memory comes from the hooks, which stay the caller's; NULL: from the kernel.
 * NULL: no memory, or too many heaps. */
mi_heap_t *mw_mi_heap_make(mw_extent_hooks_t *hooks, int tag, bool may_be_destroyed);
/* Allocates a block of the heap.  `align` is a power of two.  `zero` and NULL as in mw_mi_alloc().
 */
void *mw_mi_heap_alloc(mi_heap_t *heap, size_t bytes, size_t align, bool zero);
/* Heap of the live block; the main heap if its own heap was deleted; NULL: no block of mallow's. */
mi_heap_t *mw_mi_heap_of(const void *block);
/* Ends deleted heaps that have no block any more. */
void mw_mi_heap_sweep(void);
/* Sets how long the heaps' free memory is kept; -1: forever.  Holds for heaps made later, too. */
void mw_mi_heap_set_decay(int64_t ms);

#endif
