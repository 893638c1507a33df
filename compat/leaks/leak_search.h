/* SPDX-License-Identifier: MIT
 * leak_search.h -- the leaked blocks of a process, by stack.
 * Layer: compat/leaks, the door of this folder: what the libraries with other leak checkers' names
 * share. Each of them is built with it. What the functions allocate is no part of a profile.
 * Reading order: leak_search, leak_names. */
#ifndef MW_COMPAT_LEAKS_LEAK_SEARCH_H
#define MW_COMPAT_LEAKS_LEAK_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/compat/compat_calls.h"

/* The blocks that exist at a moment: the sequence number of each record. */
typedef struct mw_leaks_snapshot {
	uint32_t count;
	uint32_t sequences[];
} mw_leaks_snapshot_t;

/* Returns NULL if there is no memory. */
mw_leaks_snapshot_t *mw_leaks_snapshot_take(void);
void mw_leaks_snapshot_free(mw_leaks_snapshot_t *snapshot);

typedef struct mw_leaks_block {
	uint64_t address, bytes; /* bytes that the program requested */
	uint64_t stack;          /* its number */
	bool is_direct;
} mw_leaks_block_t;

typedef struct mw_leaks {
	mw_leaks_block_t *blocks; /* by stack, of these the direct ones first, then by address */
	size_t count;
	uint64_t bytes;
	uint64_t live_blocks, live_bytes; /* reachable */
	size_t mapped_bytes;              /* of `blocks` */
} mw_leaks_t;

/* Searches. Blocks in the snapshot, which may be NULL, do not count. Returns 0 or an error number;
 * after 0 the caller frees the leaks. */
int mw_leaks_find(const mw_leak_scope_t *scope, const mw_leaks_snapshot_t *since,
		  mw_leaks_t *leaks);
void mw_leaks_free(mw_leaks_t *leaks);

/* Blocks of one stack. The counts of `stack` are those of these blocks. */
typedef struct mw_leaks_group {
	mw_compat_stack_t stack;
	bool is_direct;      /* of the first block */
	size_t first, count; /* blocks */
} mw_leaks_group_t;

/* Returns the groups, those with most bytes first; NULL: none, or no memory. `splits_kinds`: direct
 * and indirect leaks of a stack are two groups, and groups of direct leaks come first. The caller
 * frees them with free(3). */
mw_leaks_group_t *mw_leaks_group(const mw_leaks_t *leaks, bool splits_kinds, size_t *count);

#endif
