/* SPDX-License-Identifier: MIT
 * parts.c -- a table of the entries that were made. */
#include "prof/parts.h"

#include <stdatomic.h>

#include "base/compiler.h"
#include "os/single.h"

/* In all: 256 KiB of counters.  The table is half full at most, so that an empty slot ends each
 * search. */
#define ENTRIES_MAX 1024u
#define SLOTS_LOG2 11u
#define SLOTS (1u << SLOTS_LOG2)

/* Written in a turn, read by dumps at any time. */
typedef struct slot {
	_Atomic uint64_t key; /* written last; 0: empty */
	uint32_t own;
	uint32_t reserved;
} slot_t;

static slot_t slots[SLOTS] MW_SPARSE;
static _Atomic uint32_t entries;

static slot_t *slot_of(uint64_t key) {
	unsigned i = (uint32_t)key * 0x9e3779b1u >> (32 - SLOTS_LOG2);
	for (;; i = (i + 1) % SLOTS) {
		/* Pairs with the release in mw_parts_make(). */
		uint64_t found = atomic_load_explicit(&slots[i].key, memory_order_acquire);
		if (found == 0 || found == key)
			return &slots[i];
	}
}

static uint64_t key_of(uint32_t stack, unsigned part) {
	return (uint64_t)stack * MW_STACK_PARTS + part;
}

uint32_t mw_parts_find(uint32_t stack, unsigned part) {
	if (MW_LIKELY(atomic_load_explicit(&entries, memory_order_acquire) == 0) || part == 0)
		return stack;
	const slot_t *slot = slot_of(key_of(stack, part));
	return atomic_load_explicit(&slot->key, memory_order_relaxed) != 0 ? slot->own : stack;
}

/* Of the same stack; the counters behind the description are zero. */
static uint32_t make_entry(uint32_t stack, unsigned part) {
	uint64_t own = mw_image_take(MW_SECTION_STACKS, 1);
	if (own == MW_IMAGE_NO_ENTRY)
		return 0;
	const mw_state_stack_t *entry = mw_image_entry(MW_SECTION_STACKS, stack);
	mw_state_stack_t head = {.hash = entry->hash,
				 .node = entry->node,
				 .depth = entry->depth,
				 .flags = (uint16_t)(entry->flags | part << MW_STACK_PART_SHIFT)};
	mw_twin_copy(mw_image_twin(MW_SECTION_STACKS, own), &head, MW_STACK(live_objects_q16));
	return (uint32_t)own;
}

uint32_t mw_parts_make(uint32_t stack, unsigned part) {
	/* "Unknown" is one entry, and who is alone needs none. */
	if (stack == 0 || part == 0 || mw_parts_of(stack) != 0 || mw_os_is_single_threaded())
		return stack;
	slot_t *slot = slot_of(key_of(stack, part));
	if (atomic_load_explicit(&slot->key, memory_order_relaxed) != 0)
		return slot->own;
	uint32_t count = atomic_load_explicit(&entries, memory_order_relaxed);
	uint32_t own = count < ENTRIES_MAX ? make_entry(stack, part) : 0;
	if (own == 0)
		return stack;
	slot->own = own;
	/* Pair with the acquires above. */
	atomic_store_explicit(&slot->key, key_of(stack, part), memory_order_release);
	atomic_store_explicit(&entries, count + 1, memory_order_release);
	return own;
}

uint32_t mw_parts_whole(uint32_t own) {
	for (unsigned i = 0; mw_parts_of(own) != 0 && i < SLOTS; i++) {
		/* Pairs with the release in mw_parts_make(). */
		uint64_t key = atomic_load_explicit(&slots[i].key, memory_order_acquire);
		if (key != 0 && slots[i].own == own)
			return (uint32_t)(key / MW_STACK_PARTS);
	}
	return own;
}

mw_parts_t mw_parts_all(uint32_t stack) {
	mw_parts_t all = {.count = mw_parts_of(stack) == 0};
	all.stacks[0] = stack;
	for (unsigned part = 1; all.count > 0 && part < MW_STACK_PARTS; part++) {
		uint32_t own = mw_parts_find(stack, part);
		if (own != stack)
			all.stacks[all.count++] = own;
	}
	return all;
}
