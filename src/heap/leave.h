/* SPDX-License-Identifier: MIT
 * leave.h -- everything that a heap has goes: its thread ends, and it does not wait for another
 * (heap/park.h).
 * Layer: heap. */
#ifndef MW_HEAP_LEAVE_H
#define MW_HEAP_LEAVE_H

#include "heap/heap.h"

/* Of the calling thread's heap, but for pages whose inboxes are just being announced to it. */
void mw_leave_all(mw_heap_t *heap);
/* Under the heaps lock, of a heap without a thread: what was left there goes. */
void mw_leave_pending(mw_heap_t *heap);

#endif
