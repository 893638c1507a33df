/* SPDX-License-Identifier: MIT
 * debug_blocks.h -- the table of blocks, live ones and freed ones that wait.
 * The lock is taken by the callers of the functions below. */
#ifndef MW_COMPAT_GPERFTOOLS_DEBUG_BLOCKS_H
#define MW_COMPAT_GPERFTOOLS_DEBUG_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compat/gperftools/debug/debug_stacks.h"

/* Functions that allocate or free, by kind: a block is freed with a function of its kind. */
typedef enum mw_gpd_kind { MW_GPD_MALLOC, MW_GPD_NEW, MW_GPD_NEW_ARRAY } mw_gpd_kind_t;

/* Where a block was allocated or freed. */
typedef struct mw_gpd_event {
	const char *function;
	const mw_gpd_stack_t *stack; /* NULL: not known */
	uint32_t thread_id;
} mw_gpd_event_t;

typedef enum mw_gpd_state {
	MW_GPD_LIVE,
	MW_GPD_CLOSING, /* a thread frees the block and fills it */
	MW_GPD_FREED,   /* in the queue */
} mw_gpd_state_t;

typedef struct mw_gpd_block {
	struct mw_gpd_block *next;  /* in the bucket, or of the list of unused rows */
	struct mw_gpd_block *newer; /* freed: the block that was freed next */
	char *start;                /* the program's address */
	size_t bytes;               /* as the program requested */
	char *memory;               /* begin of the heap's block or of the mapping */
	size_t mapped_bytes;        /* of the mapping, with its fence; 0: memory of the heap */
	mw_gpd_kind_t kind;
	mw_gpd_state_t state;
	bool is_closed; /* freed: the mapping cannot be read or written */
	mw_gpd_event_t allocated, freed;
} mw_gpd_block_t;

void mw_gpd_lock(void);
void mw_gpd_unlock(void);

/* Returns the row of the block that starts at the address; NULL: none. */
mw_gpd_block_t *mw_gpd_find(const void *start);
/* Adds a row with the contents of `block`.  false: no memory. */
bool mw_gpd_add(const mw_gpd_block_t *block);
void mw_gpd_remove(mw_gpd_block_t *block);
/* Calls `visit` for each row until it returns false. */
void mw_gpd_visit(bool (*visit)(const mw_gpd_block_t *block, void *context), void *context);

/* The queue of freed blocks, in the order of their frees.  `limit_bytes`: a block leaves while the
 * queue holds more, or more than 1024 blocks; SIZE_MAX: none leaves. */
void mw_gpd_queue_add(mw_gpd_block_t *block);
/* Returns the row that is to leave, which the queue holds no longer; NULL: none. */
mw_gpd_block_t *mw_gpd_queue_take(size_t limit_bytes);

#endif
