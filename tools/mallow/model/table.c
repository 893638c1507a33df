/* SPDX-License-Identifier: MIT
 * table.c -- open addressing with linear probing. */
#include "model/table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "model/memory.h"

/* Odd constants with well-spread bits: fractions of the golden ratio and of the square root of
 * 3. */
#define MIX_1 0x9e3779b97f4a7c15u
#define MIX_2 0xbb67ae8584caa73bu

/* Folds the 128-bit product, so that every input bit affects every bit of the result. */
static uint64_t mix(uint64_t a, uint64_t b) {
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The 16 random bytes that the kernel gives each process (AT_RANDOM). */
static const uint64_t *secret(void) {
	static uint64_t words[2];
	if (words[0] == 0) {
		const void *random = (const void *)getauxval(AT_RANDOM);
		if (random != NULL)
			memcpy(words, random, sizeof(words));
		words[0] |= 1;
	}
	return words;
}

uint64_t mw_table_hash(const void *bytes, size_t length) {
	const uint64_t *key = secret();
	const unsigned char *at = bytes;
	uint64_t hash = mix(key[0] ^ length, MIX_1);
	for (; length >= 8; at += 8, length -= 8) {
		uint64_t word;
		memcpy(&word, at, 8);
		hash = mix(hash ^ word, key[1] ^ MIX_2);
	}
	uint64_t rest = 0;
	if (length > 0)
		memcpy(&rest, at, length);
	return mix(hash ^ rest, key[0] ^ MIX_2);
}

uint32_t mw_table_find(const mw_table_t *table, uint64_t hash, mw_table_equal_fn equal,
		       const void *context, const void *key) {
	if (table->capacity == 0)
		return 0;
	size_t mask = table->capacity - 1;
	for (size_t i = hash & mask;; i = (i + 1) & mask) {
		const mw_table_slot_t *slot = &table->slots[i];
		if (slot->entry == 0)
			return 0;
		if (slot->hash == hash && equal(context, slot->entry, key))
			return slot->entry;
	}
}

static void insert(mw_table_t *table, uint64_t hash, uint32_t entry) {
	size_t mask = table->capacity - 1;
	size_t i = hash & mask;
	while (table->slots[i].entry != 0)
		i = (i + 1) & mask;
	table->slots[i] = (mw_table_slot_t){hash, entry};
}

void mw_table_add(mw_table_t *table, uint64_t hash, uint32_t entry) {
	/* The table is at most half full, so that probe sequences stay short. */
	if (table->used * 2 >= table->capacity) {
		mw_table_t grown = {.capacity = table->capacity > 0 ? table->capacity * 2 : 64};
		grown.slots = mw_xcalloc(grown.capacity, sizeof(mw_table_slot_t));
		for (size_t i = 0; i < table->capacity; i++)
			if (table->slots[i].entry != 0)
				insert(&grown, table->slots[i].hash, table->slots[i].entry);
		grown.used = table->used;
		free(table->slots);
		*table = grown;
	}
	insert(table, hash, entry);
	table->used++;
}

void mw_table_clear(mw_table_t *table) {
	free(table->slots);
	*table = (mw_table_t){0};
}
