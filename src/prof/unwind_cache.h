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
 * thousands.  A small program is done with a kernel page of them, 2^8 sets, which are all that are
 * used at first: see grow(). */
#define MW_CACHE_SET_BITS 14
#define MW_CACHE_FIRST_SET_BITS 8
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
/* Of the sets in use, less 1, times the size of a set. */
extern _Atomic uintptr_t mw_cache_mask_bytes;

/* Where the set of an address begins, in bytes.  A set for each 16 bytes of code, which seldom hold
 * more than two calls.  This is one "and", and nothing is faster: it is in the chain of dependent
 * loads that a walk consists of. */
MW_ALWAYS_INLINE uintptr_t mw_cache_offset(uintptr_t pc) {
	/* Relaxed: under an older mask an entry is not found, and looked up again. */
	return pc & atomic_load_explicit(&mw_cache_mask_bytes, memory_order_relaxed);
}

/* The address's entry; 0 if there is none. */
MW_ALWAYS_INLINE uint64_t mw_cache_find(uintptr_t pc) {
	const _Atomic uint64_t *ways =
		(const _Atomic uint64_t *)(const void *)((const char *)mw_cache_sets +
							 mw_cache_offset(pc));
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

/* Forgets all; for tests and measurements, with no other thread in it. */
void mw_cache_clear(void);

/* Memory that the cache has come to use: at most that of its two arrays, 512 KiB. */
uint64_t mw_cache_bytes(void);

/* The guard stored with the address's entry; any other word if the entry is being replaced. */
uint64_t mw_cache_guard(uintptr_t pc);

#endif
