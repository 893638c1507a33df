/* SPDX-License-Identifier: MIT
 * rule_cache.c -- fills the cache. */
#include "prof/unwind/rule/rule_cache.h"
#include "base/bits.h"

#include <string.h>

#include "base/check.h"
#include "os/memory/map.h"
#include "prof/unwind/rule/rule.h"

_Static_assert(MW_CACHE_LOW_BITS <= 1, "neighbouring instructions have entries of their own");
_Static_assert(MW_CACHE_CODE_MASK == (1u << MW_RULE_CODE_BITS) - 1, "a code fits an entry");

/* The kernel maps a page of it when the first entry is written there. */
MW_SPARSE _Alignas(MW_OS_PAGE_BYTES) mw_cache_set_t mw_cache_sets[1u << MW_CACHE_SET_BITS];
MW_SPARSE _Alignas(MW_OS_PAGE_BYTES) mw_cache_set_t mw_cache_guards[1u << MW_CACHE_SET_BITS];

/* One bit for each kernel page of either array that has an entry. */
#define SETS_PER_PAGE (MW_OS_PAGE_BYTES / sizeof(mw_cache_set_t))
_Static_assert((1u << MW_CACHE_SET_BITS) / SETS_PER_PAGE == 64, "one word of bits");
static _Atomic uint64_t touched_sets, touched_guards;

static void touch(_Atomic uint64_t *touched, uint32_t index) {
	uint64_t bit = (uint64_t)1 << index / SETS_PER_PAGE;
	/* Relaxed: for statistics only. */
	if (MW_UNLIKELY(!(atomic_load_explicit(touched, memory_order_relaxed) & bit)))
		atomic_fetch_or_explicit(touched, bit, memory_order_relaxed);
}

uint64_t mw_cache_bytes(void) {
	unsigned sets = (unsigned)__builtin_popcountll(
		atomic_load_explicit(&touched_sets, memory_order_relaxed));
	unsigned guards = (unsigned)__builtin_popcountll(
		atomic_load_explicit(&touched_guards, memory_order_relaxed));
	return (uint64_t)(sets + guards) * MW_OS_PAGE_BYTES;
}

static uint32_t index_of(uintptr_t pc) {
	return (uint32_t)(mw_cache_offset(pc) / sizeof(mw_cache_set_t));
}

static void put(uintptr_t pc, uint64_t low_bits, uint64_t guard) {
	MW_ASSERT((low_bits & MW_CACHE_CODE_MASK) != 0);
	if (pc >> MW_OS_ADDRESS_BITS)
		return;
	uint32_t index = index_of(pc);
	_Atomic uint64_t *ways = mw_cache_sets[index].ways;
	_Atomic uint64_t *guards = mw_cache_guards[index].ways;
	uint64_t first = atomic_load_explicit(&ways[0], memory_order_relaxed);
	touch(&touched_sets, index);
	if (low_bits & MW_CACHE_GUARDED)
		touch(&touched_guards, index);
	/* The new entry goes to the first way, and the first way's entry to the second, so that the
	 * oldest entry is dropped. An outdated entry of the same address is overwritten in
	 * place. */
	if (first != 0 && !mw_cache_is_of(first, pc)) {
		if (first & MW_CACHE_GUARDED)
			atomic_store_explicit(
				&guards[1], atomic_load_explicit(&guards[0], memory_order_relaxed),
				memory_order_relaxed);
		/* Acquire: the next store publishes the rule of the first way's writer again. */
		atomic_thread_fence(memory_order_acquire);
		atomic_store_explicit(&ways[1], first, memory_order_release);
	}
	if (low_bits & MW_CACHE_GUARDED)
		atomic_store_explicit(&guards[0], guard, memory_order_relaxed);
	/* Release: pairs with the acquire in mw_cache_find(). */
	atomic_store_explicit(&ways[0],
			      (uint64_t)(pc >> MW_CACHE_LOW_BITS) << MW_CACHE_PC_SHIFT | low_bits,
			      memory_order_release);
}

void mw_cache_clear(void) {
	mw_words_clear(mw_cache_sets, sizeof mw_cache_sets);
}

void mw_cache_put(uintptr_t pc, uint32_t code) {
	put(pc, code, 0);
}

void mw_cache_put_guarded(uintptr_t pc, uint32_t code, uint64_t guard) {
	put(pc, code | MW_CACHE_GUARDED, guard);
}

uint64_t mw_cache_guard(uintptr_t pc) {
	uint32_t index = index_of(pc);
	uint64_t first = atomic_load_explicit(&mw_cache_sets[index].ways[0], memory_order_relaxed);
	/* Relaxed: the guard of another entry does not pass the check. */
	return atomic_load_explicit(&mw_cache_guards[index].ways[mw_cache_is_of(first, pc) ? 0 : 1],
				    memory_order_relaxed);
}
