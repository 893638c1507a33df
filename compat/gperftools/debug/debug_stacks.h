/* SPDX-License-Identifier: MIT
 * debug_stacks.h -- stacks of the program's calls, each distinct stack held once. */
#ifndef MW_COMPAT_GPERFTOOLS_DEBUG_STACKS_H
#define MW_COMPAT_GPERFTOOLS_DEBUG_STACKS_H

#include <stddef.h>
#include <stdint.h>

#define MW_GPD_DEPTH_MAX 24

typedef struct mw_gpd_stack {
	unsigned depth;
	uint64_t pcs[MW_GPD_DEPTH_MAX]; /* return addresses, leaf first */
} mw_gpd_stack_t;

/* Returns `bytes` of zeroed memory that is never freed; NULL: none.  The caller holds the lock. */
void *mw_gpd_take_memory(size_t bytes);

/* Takes the calling thread's stack from the frame that returns to `caller`, or was interrupted
 * there, on.  No lock; signal handlers may call it. */
void mw_gpd_stack_take(mw_gpd_stack_t *stack, void *caller);
/* Returns the held copy of the stack, which stays for the life of the process; NULL: no memory.
 * The caller holds the lock. */
const mw_gpd_stack_t *mw_gpd_stack_hold(const mw_gpd_stack_t *stack);

#endif
