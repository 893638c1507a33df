/* SPDX-License-Identifier: MIT
 * thread_counter.h -- counters of one thread that the program reads as variables.
 * Layer: heap.  Calling thread only.  A thread that asks for a counter frees by the slow path from
 * then on. */
#ifndef MW_HEAP_THREAD_COUNTER_H
#define MW_HEAP_THREAD_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

/* Address of a counter that follows a sum of mw_heap_thread_bytes() from now on; NULL: no memory
 * for a heap.
 * freed == false: allocated bytes.  Moves at each refill, block above the small limit, and 64 KiB
 * freed; it is ahead of the sum by the bytes in the tcache lists.
 * freed == true: freed bytes.  Moves with each free() of the thread, whichever thread made the
 * block. */
MW_COLD const uint64_t *mw_heap_thread_counter(bool freed);
/* Most bytes that the calling thread had in use at once since its first call or its last call with
 * `begins`.  The value is computed when the counters move, so up to one tcache list of each
 * class may be missing. */
MW_COLD uint64_t mw_heap_thread_peak(bool begins);

#endif
