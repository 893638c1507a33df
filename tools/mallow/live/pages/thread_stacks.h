/* SPDX-License-Identifier: MIT
 * thread_stacks.h -- the resident memory of each thread's stack.
 * Layer: live/pages.  A thread's stack is found by its stack pointer, which the kernel tells of
 * threads that wait; the heap walk's thread pointers tell where it ends. */
#ifndef MW_TOOL_LIVE_PAGES_THREAD_STACKS_H
#define MW_TOOL_LIVE_PAGES_THREAD_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/state/state_file.h"
#include "live/pages/block_pages.h"

typedef struct mw_thread_stack {
	int thread;    /* id as seen from here */
	char name[16]; /* as the kernel has it */
	uint64_t resident_bytes;
} mw_thread_stack_t;

/* Returns the stacks of the threads that wait, other than the first thread's, whose stack the
 * kernel bounds.  The caller frees the array; NULL: there is none, or the kernel refuses.
 * `snapshot` was read with MW_SNAPSHOT_HEAP_WALK. */
mw_thread_stack_t *mw_thread_stacks_read(int pid, const mw_snapshot_t *snapshot,
					 mw_block_pages_t *pages, size_t *count);

#endif
