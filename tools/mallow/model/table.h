/* SPDX-License-Identifier: MIT
 * table.h -- a hash table from keys of the caller's to 32-bit entry numbers.
 * Layer: tools/model.  Holds no keys: the caller compares.  The hash is keyed with a secret of the
 * process, so that no file can be made to collide; nothing may depend on the table's order. */
#ifndef MW_TOOL_MODEL_TABLE_H
#define MW_TOOL_MODEL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mw_table_slot {
	uint64_t hash;
	uint32_t entry; /* 0: free */
} mw_table_slot_t;

/* Zeroed is empty. */
typedef struct mw_table {
	mw_table_slot_t *slots;
	size_t capacity; /* a power of two, or 0 */
	size_t used;
} mw_table_t;

typedef bool (*mw_table_equal_fn)(const void *context, uint32_t entry, const void *key);

/* Keyed hash of `length` bytes. */
uint64_t mw_table_hash(const void *bytes, size_t length);

/* The entry whose key equals `key`, or 0. */
uint32_t mw_table_find(const mw_table_t *table, uint64_t hash, mw_table_equal_fn equal,
		       const void *context, const void *key);
/* Adds an entry (not 0) that is not there yet. */
void mw_table_add(mw_table_t *table, uint64_t hash, uint32_t entry);
void mw_table_clear(mw_table_t *table);

#endif
