/* SPDX-License-Identifier: MIT
 * unwind_cache.h -- from code address to rule: an array of 8-byte entries shared by all threads.
 * Layer: prof.  Each entry is one atomic word that holds the whole address (47 bits) and the rule's
 * number, so a reader never sees half of one; a lost race loses an entry, nothing else.  No locks:
 * async-signal-safe.
 *
 * Entries for code that may be unloaded are "guarded": a second word lets the reader make sure that
 * the tables the rule came from are still there (doc/unwinding.md, "dlclose").  The two words are
 * not read together, so the guard itself has to bind address and rule. */
#ifndef MW_PROF_UNWIND_CACHE_H
#define MW_PROF_UNWIND_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "prof/unwind_rule.h"

/* 2 ways of 2^14: 256 KiB of address space for 32768 call sites.  A server's profile names some
 * thousands. */
#define MW_CACHE_SET_BITS 14
#define MW_CACHE_WAYS 2
/* From bit 0: the rule's code, the guarded flag, the address. */
#define MW_CACHE_CODE_MASK 0xffffu
#define MW_CACHE_GUARDED ((uint64_t)1 << 16)
/* User addresses have 47 bits (56 if a program asks for them: those are not kept). */
#define MW_CACHE_PC_SHIFT 17
#define MW_CACHE_PC_BITS 47

typedef struct mw_cache_set {
	_Atomic uint64_t ways[MW_CACHE_WAYS];
} mw_cache_set_t;

extern mw_cache_set_t mw_cache_sets[1u << MW_CACHE_SET_BITS];
extern mw_cache_set_t mw_cache_guards[1u << MW_CACHE_SET_BITS];

/* A set for each 16 bytes of code, which seldom hold more than two calls, so that a page of code
 * has its entries in a page of the cache: a small program touches few.  Times the set's size this
 * is one "and", and nothing is faster: it is in the chain of dependent loads that a walk consists
 * of. */
static inline uint32_t mw_cache_index(uintptr_t pc) {
	return (uint32_t)(pc / sizeof(mw_cache_set_t)) & ((1u << MW_CACHE_SET_BITS) - 1);
}

/* The address's entry; 0 if there is none. */
MW_ALWAYS_INLINE uint64_t mw_cache_find(uintptr_t pc) {
	const _Atomic uint64_t *ways = mw_cache_sets[mw_cache_index(pc)].ways;
	/* Acquire: pairs with the release in mw_cache_put(): the rule behind a number. */
	uint64_t entry = atomic_load_explicit(&ways[0], memory_order_acquire);
	if (MW_LIKELY(entry >> MW_CACHE_PC_SHIFT == pc))
		return entry;
	entry = atomic_load_explicit(&ways[1], memory_order_acquire);
	return MW_LIKELY(entry >> MW_CACHE_PC_SHIFT == pc) ? entry : 0;
}

/* Remembers a rule's code for ever, or for as long as its guard holds. */
void mw_cache_put(uintptr_t pc, uint32_t code);
void mw_cache_put_guarded(uintptr_t pc, uint32_t code, uint64_t guard);

/* Memory that the cache has come to use: at most that of its two arrays, 512 KiB. */
uint64_t mw_cache_bytes(void);

/* The guard stored with the address's entry; any other word if the entry is being replaced. */
uint64_t mw_cache_guard(uintptr_t pc);

#endif
