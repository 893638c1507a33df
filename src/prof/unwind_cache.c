/* SPDX-License-Identifier: MIT
 * unwind_cache.c -- filling the cache. */
#include "prof/unwind_cache.h"

#include <string.h>

#include "base/check.h"
#include "os/map.h"

_Static_assert(MW_CACHE_PC_SHIFT + MW_CACHE_PC_BITS == 64, "an entry is one word");
_Static_assert(MW_CACHE_CODE_MASK == (1u << MW_RULE_CODE_BITS) - 1, "a code fits an entry");

#define MASK_OF(bits) (((1u << (bits)) - 1) * sizeof(mw_cache_set_t))
/* The cache grows fourfold when as many entries as a quarter of its sets were pushed out. */
#define GROWTH_BITS 2
#define PUSHED_OUT_SHARE 4u

/* Untouched until used: the kernel maps pages of it as call sites come. */
MW_SPARSE _Alignas(MW_OS_PAGE_BYTES) mw_cache_set_t mw_cache_sets[1u << MW_CACHE_SET_BITS];
MW_SPARSE _Alignas(MW_OS_PAGE_BYTES) mw_cache_set_t mw_cache_guards[1u << MW_CACHE_SET_BITS];
_Atomic uintptr_t mw_cache_mask_bytes = MASK_OF(MW_CACHE_FIRST_SET_BITS);
static _Atomic uint32_t pushed_out; /* since it grew */

/* A bit for each kernel page of either array that an entry was written to. */
#define SETS_PER_PAGE (MW_OS_PAGE_BYTES / sizeof(mw_cache_set_t))
_Static_assert((1u << MW_CACHE_SET_BITS) / SETS_PER_PAGE == 64, "one word of bits");
static _Atomic uint64_t touched_sets, touched_guards;

static void touch(_Atomic uint64_t *touched, uint32_t index) {
	uint64_t bit = (uint64_t)1 << index / SETS_PER_PAGE;
	/* Relaxed: for a statistic. */
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

/* An entry was pushed out.  Those whose place changes with the growth are looked up once more; what
 * they leave behind is found by nobody, or by those who still have the old mask, and is right. */
static void grow(void) {
	uintptr_t mask = atomic_load_explicit(&mw_cache_mask_bytes, memory_order_relaxed);
	uintptr_t sets = mask / sizeof(mw_cache_set_t) + 1;
	if (mask == MASK_OF(MW_CACHE_SET_BITS) ||
	    atomic_fetch_add_explicit(&pushed_out, 1, memory_order_relaxed) <
		    sets / PUSHED_OUT_SHARE)
		return;
	uintptr_t wider = (sets << GROWTH_BITS) * sizeof(mw_cache_set_t) - sizeof(mw_cache_set_t);
	if (atomic_compare_exchange_strong_explicit(&mw_cache_mask_bytes, &mask,
						    wider & MASK_OF(MW_CACHE_SET_BITS),
						    memory_order_relaxed, memory_order_relaxed))
		atomic_store_explicit(&pushed_out, 0, memory_order_relaxed);
}

static uint32_t index_of(uintptr_t pc) {
	return (uint32_t)(mw_cache_offset(pc) / sizeof(mw_cache_set_t));
}

static void put(uintptr_t pc, uint64_t low_bits, uint64_t guard) {
	MW_ASSERT((low_bits & MW_CACHE_CODE_MASK) != 0);
	if (pc >> MW_CACHE_PC_BITS)
		return;
	uint32_t index = index_of(pc);
	_Atomic uint64_t *ways = mw_cache_sets[index].ways;
	_Atomic uint64_t *guards = mw_cache_guards[index].ways;
	uint64_t first = atomic_load_explicit(&ways[0], memory_order_relaxed);
	touch(&touched_sets, index);
	if (low_bits & MW_CACHE_GUARDED)
		touch(&touched_guards, index);
	/* The newest goes to the first way, what was there to the second: least recently filled is
	 * forgotten.  A stale entry of this very address is overwritten where it stands. */
	if (first != 0 && first >> MW_CACHE_PC_SHIFT != pc) {
		if (first & MW_CACHE_GUARDED)
			atomic_store_explicit(
				&guards[1], atomic_load_explicit(&guards[0], memory_order_relaxed),
				memory_order_relaxed);
		/* Release: passes on what the first way's writer published. */
		atomic_thread_fence(memory_order_acquire);
		uint64_t second = atomic_exchange_explicit(&ways[1], first, memory_order_release);
		if (second != 0 && second >> MW_CACHE_PC_SHIFT != pc)
			grow();
	}
	if (low_bits & MW_CACHE_GUARDED)
		atomic_store_explicit(&guards[0], guard, memory_order_relaxed);
	/* Release: pairs with the acquire in mw_cache_find(). */
	atomic_store_explicit(&ways[0], (uint64_t)pc << MW_CACHE_PC_SHIFT | low_bits,
			      memory_order_release);
}

void mw_cache_clear(void) {
	atomic_store_explicit(&mw_cache_mask_bytes, MASK_OF(MW_CACHE_FIRST_SET_BITS),
			      memory_order_relaxed);
	atomic_store_explicit(&pushed_out, 0, memory_order_relaxed);
	memset(mw_cache_sets, 0, sizeof mw_cache_sets);
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
	/* Relaxed: a guard of another entry does not pass the check. */
	return atomic_load_explicit(
		&mw_cache_guards[index].ways[first >> MW_CACHE_PC_SHIFT == pc ? 0 : 1],
		memory_order_relaxed);
}
