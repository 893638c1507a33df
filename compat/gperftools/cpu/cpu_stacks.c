/* SPDX-License-Identifier: MIT
 * cpu_stacks.c -- a hash table with chains; entries are never removed. */
#include "compat/gperftools/cpu/cpu_stacks.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "os/memory/map.h"

#define BUCKETS 32768u
/* Room for some two million stacks of thirty frames; half as often as the kernel refuses. */
#define ROOM_BYTES ((size_t)512 << 20)
#define ROOM_MIN_BYTES ((size_t)4 << 20)

typedef struct entry {
	uint32_t next; /* index in words of the next entry; 0: none */
	uint32_t depth;
	_Atomic uint64_t samples;
	uint64_t pcs[];
} entry_t;
#define HEAD_WORDS (sizeof(entry_t) / sizeof(uint64_t))

static struct {
	uint64_t *words; /* NULL: not mapped yet */
	size_t room_words;
	_Atomic size_t used_words; /* may exceed the room, if an entry did not fit */
	_Atomic uint32_t buckets[BUCKETS];
} stacks;

bool mw_gpc_stacks_start(void) {
	size_t bytes = ROOM_BYTES;
	if (stacks.words)
		mw_os_purge(stacks.words, stacks.room_words * sizeof(uint64_t));
	while (!stacks.words && bytes >= ROOM_MIN_BYTES) {
		stacks.words = mw_os_map(bytes);
		stacks.room_words = bytes / sizeof(uint64_t);
		bytes /= 2;
	}
	memset(stacks.buckets, 0, sizeof stacks.buckets);
	stacks.used_words = 1; /* index 0 is no entry */
	return stacks.words != NULL;
}

static entry_t *entry_at(uint32_t index) {
	return (entry_t *)(stacks.words + index);
}

/* FNV-1a, by words. */
static uint64_t hash_of(const uint64_t *pcs, unsigned depth) {
	uint64_t hash = 0xcbf29ce484222325u;
	for (unsigned i = 0; i < depth; i++)
		hash = (hash ^ pcs[i]) * 0x100000001b3u;
	return hash ^ hash >> 32;
}

static entry_t *find(uint32_t first, uint32_t end, const uint64_t *pcs, unsigned depth) {
	for (uint32_t i = first; i != end; i = entry_at(i)->next) {
		entry_t *entry = entry_at(i);
		if (entry->depth == depth && memcmp(entry->pcs, pcs, depth * sizeof *pcs) == 0)
			return entry;
	}
	return NULL;
}

/* Returns the index of a new entry, which no other thread knows yet; 0: no room. */
static uint32_t make(const uint64_t *pcs, unsigned depth, uint64_t samples) {
	size_t words = HEAD_WORDS + depth;
	size_t index = atomic_load_explicit(&stacks.used_words, memory_order_relaxed);
	do {
		if (index + words > stacks.room_words)
			return 0;
	} while (!atomic_compare_exchange_weak_explicit(&stacks.used_words, &index, index + words,
							memory_order_relaxed,
							memory_order_relaxed));
	entry_t *entry = entry_at((uint32_t)index);
	entry->depth = depth;
	entry->samples = samples;
	memcpy(entry->pcs, pcs, depth * sizeof *pcs);
	return (uint32_t)index;
}

bool mw_gpc_stacks_add(const uint64_t *pcs, unsigned depth, uint64_t samples) {
	_Atomic uint32_t *bucket = &stacks.buckets[hash_of(pcs, depth) % BUCKETS];
	/* Acquire: pairs with the release below, so that the entry is complete. */
	uint32_t first = atomic_load_explicit(bucket, memory_order_acquire), searched = 0;
	uint32_t made = 0;
	for (;;) {
		entry_t *entry = find(first, searched, pcs, depth);
		if (entry) { /* the place of an entry that was made in vain stays unused */
			atomic_fetch_add_explicit(&entry->samples, samples, memory_order_relaxed);
			return true;
		}
		if (!made)
			made = make(pcs, depth, samples);
		if (!made)
			return false;
		searched = first;
		entry_at(made)->next = first;
		if (atomic_compare_exchange_strong_explicit(
			    bucket, &first, made, memory_order_release, memory_order_acquire))
			return true;
	}
}

void mw_gpc_stacks_visit(mw_gpc_visit_t *visit, void *context) {
	for (unsigned i = 0; i < BUCKETS; i++) {
		uint32_t index = atomic_load_explicit(&stacks.buckets[i], memory_order_acquire);
		for (; index != 0; index = entry_at(index)->next) {
			const entry_t *entry = entry_at(index);
			visit(context, entry->pcs, entry->depth,
			      atomic_load_explicit(&entry->samples, memory_order_relaxed));
		}
	}
}
