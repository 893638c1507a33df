/* SPDX-License-Identifier: MIT
 * huge_table.h -- address to huge block: open addressing with linear probing, grown by doubling.
 * Layer: heap.  No lock of its own: the holder of MW_RANK_HUGE calls. */
#ifndef MW_HEAP_HUGE_TABLE_H
#define MW_HEAP_HUGE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/layout/record.h"

typedef struct mw_huge_block {
	uintptr_t base; /* 0: the place is empty */
	size_t bytes;   /* bytes mapped, all of them usable */
	mw_record_id_t record;
	uint32_t arena; /* number of the arena of its memory; 0: none */
} mw_huge_block_t;

typedef struct mw_huge_table {
	mw_huge_block_t *places;
	size_t capacity; /* a power of two, or 0 */
	size_t count;
} mw_huge_table_t;

/* Finds a block; NULL: not there.  The pointer is valid until the table changes. */
mw_huge_block_t *mw_huge_table_find(const mw_huge_table_t *table, uintptr_t base);
/* Adds a block whose address is not in the table.  False: no memory. */
bool mw_huge_table_insert(mw_huge_table_t *table, const mw_huge_block_t *block);
void mw_huge_table_remove(mw_huge_table_t *table, mw_huge_block_t *place);

#endif
