/* SPDX-License-Identifier: MIT
 * verify.h -- walks of the whole heap, for debug builds and tests.
 * Layer: heap.  Each ends the program when an invariant does not hold, and says which. */
#ifndef MW_HEAP_VERIFY_H
#define MW_HEAP_VERIFY_H

#include "heap/core/heap.h"

/* Lists, counts and links of the calling thread's heap: O(free blocks). */
void mw_heap_check(const mw_heap_t *heap);
/* Slow paths of malloc between two checks of the calling thread's heap and of all chunks; 0: none.
 * Debug builds only. */
void mw_verify_set_interval(uint32_t slow_paths);

#ifdef MW_DEBUG
/* One more slow path. */
void mw_verify_tick(const mw_heap_t *heap);
#else
static inline void mw_verify_tick(const mw_heap_t *heap) {
	(void)heap;
}
#endif

#endif
