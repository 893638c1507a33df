/* SPDX-License-Identifier: MIT
 * huge_table.c -- linear probing; removal shifts back, so there are no tombstones
 * (Knuth, TAOCP 3, 6.4, algorithm R). */
#include "heap/large/huge_table.h"

#include "os/memory/map.h"

/* The first mapping, one page, has room for 170 blocks. */
#define FIRST_CAPACITY (MW_OS_PAGE_BYTES / 16)

static size_t home_of(const mw_huge_table_t *table, uintptr_t base) {
	/* Fibonacci hashing of the page number. */
	return (size_t)((base / MW_OS_PAGE_BYTES * 0x9e3779b97f4a7c15u) >> 20) &
	       (table->capacity - 1);
}

mw_huge_block_t *mw_huge_table_find(const mw_huge_table_t *table, uintptr_t base) {
	if (table->capacity == 0)
		return NULL;
	for (size_t i = home_of(table, base);; i = (i + 1) & (table->capacity - 1)) {
		if (table->places[i].base == base)
			return &table->places[i];
		if (table->places[i].base == 0)
			return NULL;
	}
}

static void place(mw_huge_table_t *table, const mw_huge_block_t *block) {
	size_t i = home_of(table, block->base);
	while (table->places[i].base != 0)
		i = (i + 1) & (table->capacity - 1);
	table->places[i] = *block;
	table->count++;
}

static size_t table_bytes(size_t capacity) {
	size_t bytes = capacity * sizeof(mw_huge_block_t);
	return (bytes + MW_OS_PAGE_BYTES - 1) & ~(size_t)(MW_OS_PAGE_BYTES - 1);
}

static bool grow(mw_huge_table_t *table) {
	size_t capacity = table->capacity ? table->capacity * 2 : FIRST_CAPACITY;
	mw_huge_table_t bigger = {mw_os_map(table_bytes(capacity)), capacity, 0};
	if (!bigger.places)
		return false;
	for (size_t i = 0; i < table->capacity; i++)
		if (table->places[i].base)
			place(&bigger, &table->places[i]);
	if (table->places)
		mw_os_unmap(table->places, table_bytes(table->capacity));
	*table = bigger;
	return true;
}

bool mw_huge_table_insert(mw_huge_table_t *table, const mw_huge_block_t *block) {
	/* At most two thirds full: probes stay short. */
	if ((table->count + 1) * 3 > table->capacity * 2 && !grow(table))
		return false;
	place(table, block);
	return true;
}

void mw_huge_table_remove(mw_huge_table_t *table, mw_huge_block_t *gone) {
	size_t mask = table->capacity - 1;
	size_t hole = (size_t)(gone - table->places);
	for (size_t i = (hole + 1) & mask; table->places[i].base != 0; i = (i + 1) & mask) {
		size_t home = home_of(table, table->places[i].base);
		/* A block may move into the hole unless its home lies cyclically in (hole, i]. */
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			table->places[hole] = table->places[i];
			hole = i;
		}
	}
	table->places[hole] = (mw_huge_block_t){0};
	table->count--;
}
