/* SPDX-License-Identifier: MIT
 * heap_walk_request.h -- asks a process to walk its heap.
 * Layer: cmd/memory. */
#ifndef MW_TOOL_CMD_MEMORY_HEAP_WALK_REQUEST_H
#define MW_TOOL_CMD_MEMORY_HEAP_WALK_REQUEST_H

#include "live/target.h"

/* Asks for a heap walk, because an idle process may have walked its heap long ago, and waits some
 * tenths of a second.  A process that a debugger holds, or whose threads all sleep, does not
 * answer: then the state file keeps the last walk, with its time. */
void mw_heap_walk_request(const mw_target_t *target);

#endif
