/* SPDX-License-Identifier: MIT
 * leak_search.h -- the leaked blocks, by stack.
 * Layer: compat/gperftools/checker. What the functions allocate is no part of a profile. */
#ifndef MW_COMPAT_GPERFTOOLS_CHECKER_LEAK_SEARCH_H
#define MW_COMPAT_GPERFTOOLS_CHECKER_LEAK_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include "api/compat_calls.h"

/* The blocks that exist at a moment: the sequence number of each record. */
typedef struct mw_gp_snapshot {
	uint32_t count;
	uint32_t sequences[];
} mw_gp_snapshot_t;

/* Returns NULL if there is no memory. */
mw_gp_snapshot_t *mw_gp_snapshot_take(void);
void mw_gp_snapshot_free(mw_gp_snapshot_t *snapshot);

typedef struct mw_gp_leak {
	uint64_t address, bytes; /* bytes that the program requested */
	uint64_t stack;
} mw_gp_leak_t;

typedef struct mw_gp_leaks {
	size_t objects;
	uint64_t bytes;
	uint64_t live_objects, live_bytes; /* reachable */
	mw_compat_stack_t *stacks;         /* those with most bytes first */
	size_t stack_count;
	mw_gp_leak_t *blocks; /* `objects` of them, by stack */
	size_t mapped_bytes;  /* of `blocks` */
} mw_gp_leaks_t;

/* Searches. Blocks in the snapshot, which may be NULL, do not count. Returns 0 or an error number;
 * after 0 the caller frees the leaks. */
int mw_gp_leaks_find(const mw_leak_scope_t *scope, const mw_gp_snapshot_t *since,
		     mw_gp_leaks_t *leaks);
void mw_gp_leaks_free(mw_gp_leaks_t *leaks);

#endif
