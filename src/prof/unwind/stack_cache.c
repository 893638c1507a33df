/* SPDX-License-Identifier: MIT
 * stack_cache.c -- finds and adds cached stacks. */
#include "prof/unwind/stack_cache.h"

#include "prof/unwind/walk_cache.h"

/* Selects a set by the leaf's stack address, which differs between most stacks. */
static unsigned set_of(uintptr_t sp, uintptr_t pc) {
	return (unsigned)((sp ^ pc << 7) * 0x9e3779b97f4a7c15u >> 60);
}
_Static_assert(MW_STACK_CACHE_SETS == 1u << (64 - 60), "the hash's upper bits");

/* Returns whether the frame of the walk cache that the stack continues with is unchanged. */
static bool has_join(const mw_walk_cache_t *walk_cache, const mw_cached_stack_t *entry) {
	return entry->join < walk_cache->count &&
	       walk_cache->generations[entry->join] == entry->generation;
}

static bool is_leaf(const mw_cached_stack_t *entry, const mw_os_regs_t *regs) {
	return entry->sp == regs->sp && entry->pc == regs->pc &&
	       (entry->fp == regs->fp || !entry->fp_matters);
}

/* Compares the words, innermost first, because callers differ there. */
static bool are_own_words_the_same(const mw_cached_stack_t *entry) {
	for (unsigned i = entry->check_count; i-- > 0;)
		if (*entry->checks[i].address != entry->checks[i].word)
			return false;
	return true;
}

uint64_t mw_stack_cache_find(const mw_walk_cache_t *walk_cache, const mw_os_regs_t *regs,
			     uint64_t key) {
	const mw_cached_stack_t *entry = walk_cache->stacks.of[set_of(regs->sp, regs->pc)];
	for (const mw_cached_stack_t *end = entry + MW_STACK_CACHE_WAYS; entry < end; entry++)
		if (is_leaf(entry, regs) && entry->cached_key == key &&
		    has_join(walk_cache, entry) && are_own_words_the_same(entry) &&
		    mw_walk_cache_are_words_the_same(walk_cache,
						     &walk_cache->frames[entry->join]) &&
		    mw_walk_cache_are_objects_there(walk_cache, entry->places, entry->place_count))
			return entry->cached_value;
	return 0;
}

/* Returns an entry that is no longer valid, or the oldest one. */
static mw_cached_stack_t *replaced(mw_walk_cache_t *walk_cache, unsigned set) {
	mw_cached_stack_t *ways = walk_cache->stacks.of[set];
	for (unsigned i = 0; i < MW_STACK_CACHE_WAYS; i++)
		if (ways[i].pc == 0 || !has_join(walk_cache, &ways[i]))
			return &ways[i];
	return &ways[walk_cache->stacks.next[set]++ % MW_STACK_CACHE_WAYS];
}

void mw_stack_cache_add(mw_walk_cache_t *walk_cache) {
	if (walk_cache->kept == 0 || walk_cache->kept > walk_cache->count)
		return;
	unsigned join = walk_cache->kept - 1;
	const mw_cached_frame_t *leaf = &walk_cache->frames[walk_cache->count - 1];
	/* The frame furthest out that the entry's words reach: it changes least often, and the
	 * entry is valid until it does. */
	while (join > 0 &&
	       leaf->checks <= walk_cache->frames[join - 1].checks + MW_STACK_CACHE_CHECKS)
		join--;
	unsigned first = walk_cache->frames[join].checks, count = leaf->checks - first;
	if (count > MW_STACK_CACHE_CHECKS)
		return;
	mw_cached_stack_t *entry = replaced(walk_cache, set_of(leaf->sp, leaf->pc));
	entry->sp = leaf->sp;
	entry->pc = leaf->pc;
	entry->fp = leaf->fp;
	entry->fp_matters = leaf->fp_matters;
	entry->cached_value = walk_cache->cached_value;
	entry->cached_key = walk_cache->cached_key;
	entry->generation = walk_cache->generations[join];
	entry->join = (uint16_t)join;
	entry->check_count = (uint8_t)count;
	for (unsigned i = 0; i < count; i++)
		entry->checks[i] = walk_cache->checks[first + i];
	entry->place_count = (uint8_t)walk_cache->place_count;
	for (unsigned i = 0; i < walk_cache->place_count; i++)
		entry->places[i] = walk_cache->places[i];
}
