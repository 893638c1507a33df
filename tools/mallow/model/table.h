/* SPDX-License-Identifier: MIT
 * table.h -- a hash table from the caller's keys to 32-bit entry numbers.
 * Layer: model.  The table holds no keys: the caller compares them.  The hash is keyed with a
 * secret of the process, so that no file can be made to collide.  The order of entries is
 * random: no output may depend on it. */
#ifndef MW_TOOL_MODEL_TABLE_H
#define MW_TOOL_MODEL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mw_table_slot {
	uint64_t hash;
	uint32_t entry; /* entry number; 0 = this slot is free */
} mw_table_slot_t;

/* A zeroed table is empty. */
typedef struct mw_table {
	mw_table_slot_t *slots;
	size_t capacity; /* number of slots: a power of two, or 0 */
	size_t used;
} mw_table_t;

typedef bool (*mw_table_equal_fn)(const void *context, uint32_t entry, const void *key);

/* Returns the keyed hash of `length` bytes. */
uint64_t mw_table_hash(const void *bytes, size_t length);

/* Returns the entry whose key equals `key`, or 0. */
uint32_t mw_table_find(const mw_table_t *table, uint64_t hash, mw_table_equal_fn equal,
		       const void *context, const void *key);
/* Adds an entry, which is not 0 and not in the table yet. */
void mw_table_add(mw_table_t *table, uint64_t hash, uint32_t entry);
void mw_table_clear(mw_table_t *table);

#endif
