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
#define MW_CACHE_GUARDED ((uint64_t)1 << 16)
/* User addresses have 47 bits (56 if a program asks for them: those are not kept). */
#define MW_CACHE_PC_SHIFT 17
#define MW_CACHE_PC_BITS 47

typedef struct mw_cache_set {
	_Atomic uint64_t ways[MW_CACHE_WAYS];
} mw_cache_set_t;

typedef struct mw_cache_hit {
	uint32_t rule_id; /* 0: not in the cache */
	bool is_guarded;
	uint64_t guard;
} mw_cache_hit_t;

extern mw_cache_set_t mw_cache_sets[1u << MW_CACHE_SET_BITS];
extern mw_cache_set_t mw_cache_guards[1u << MW_CACHE_SET_BITS];

static inline uint32_t mw_cache_index(uintptr_t pc) {
	/* Multiplicative hashing: the upper bits depend on all of the address. */
	return (uint32_t)(pc * 0x9e3779b97f4a7c15u >> (64 - MW_CACHE_SET_BITS));
}

MW_ALWAYS_INLINE mw_cache_hit_t mw_cache_find(uintptr_t pc) {
	uint32_t index = mw_cache_index(pc);
	for (unsigned way = 0; way < MW_CACHE_WAYS; way++) {
		/* Acquire: pairs with the release in mw_cache_put(): the rule behind the number. */
		uint64_t entry =
			atomic_load_explicit(&mw_cache_sets[index].ways[way], memory_order_acquire);
		if (entry >> MW_CACHE_PC_SHIFT != pc)
			continue;
		mw_cache_hit_t hit = {.rule_id = entry & (MW_RULE_IDS - 1)};
		if (MW_UNLIKELY(entry & MW_CACHE_GUARDED)) {
			hit.is_guarded = true;
			/* Relaxed: a guard of another entry does not pass the check. */
			hit.guard = atomic_load_explicit(&mw_cache_guards[index].ways[way],
							 memory_order_relaxed);
		}
		return hit;
	}
	return (mw_cache_hit_t){0};
}

/* Remembers a rule for ever, or for as long as its guard holds. */
void mw_cache_put(uintptr_t pc, uint32_t rule_id);
void mw_cache_put_guarded(uintptr_t pc, uint32_t rule_id, uint64_t guard);

#endif
