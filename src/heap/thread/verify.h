/* SPDX-License-Identifier: MIT
 * verify.h -- walks of the whole heap, for debug builds and tests.
 * Layer: heap.  A walk ends the program when an invariant does not hold, with a message that names
 * the invariant. */
#ifndef MW_HEAP_VERIFY_H
#define MW_HEAP_VERIFY_H

#include "heap/layout/page.h"

/* Checks lists, counts and links of the calling thread's heap: O(free blocks). */
void mw_heap_check(const mw_heap_t *heap);
/* Sets how many slow paths of malloc lie between two checks of the calling thread's heap and of all
 * chunks; 0: no checks.  Debug builds only. */
void mw_verify_set_interval(uint32_t slow_paths);

#ifdef MW_DEBUG
/* Counts a slow path, and checks the heap when the count reaches that number. */
void mw_verify_tick(const mw_heap_t *heap);
#else
static inline void mw_verify_tick(const mw_heap_t *heap) {
	(void)heap;
}
#endif

#endif
