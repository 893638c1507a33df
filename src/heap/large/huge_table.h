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
	uintptr_t base; /* 0: empty place */
	size_t bytes;   /* mapped and usable */
	mw_record_id_t record;
	uint32_t arena; /* that its memory is of; 0: none that a program made */
} mw_huge_block_t;

typedef struct mw_huge_table {
	mw_huge_block_t *places;
	size_t capacity; /* a power of two, or 0 */
	size_t count;
} mw_huge_table_t;

/* NULL: not there.  Valid until the table changes. */
mw_huge_block_t *mw_huge_table_find(const mw_huge_table_t *table, uintptr_t base);
/* False: no memory.  `base` is not in the table. */
bool mw_huge_table_insert(mw_huge_table_t *table, const mw_huge_block_t *block);
void mw_huge_table_remove(mw_huge_table_t *table, mw_huge_block_t *place);

#endif
