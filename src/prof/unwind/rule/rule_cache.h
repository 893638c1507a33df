/* SPDX-License-Identifier: MIT
 * rule_cache.h -- maps code addresses to rules: an array of 8-byte entries shared by all
 * threads.
 * Layer: prof/unwind/rule. Each entry is one atomic word that holds the whole address and the
 * rule's number, so a reader sees a whole entry. If two threads write at once, one entry is
 * lost. No locks: async-signal-safe.
 *
 * Entries for code that may be unloaded are "guarded": by a second word the reader checks that the
 * tables of the rule are still loaded (doc/internals/unwinding.md, "dlclose"). The two words are
 * not read together, so the guard depends on address and rule. */
#ifndef MW_PROF_UNWIND_RULE_CACHE_H
#define MW_PROF_UNWIND_RULE_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "os/platform/arch.h"

/* Two ways of 2^14 sets: 256 KiB of address space for 32768 call sites. A server's profile contains
 * some thousands. */
#define MW_CACHE_SET_BITS 14
#define MW_CACHE_WAYS 2
/* Bits of an entry, from bit 0: the rule's code, the guarded flag, the address. */
#define MW_CACHE_CODE_MASK 0xffffu
#define MW_CACHE_GUARDED ((uint64_t)1 << 16)
#define MW_CACHE_PC_SHIFT 17
/* Lowest bits of an address for which an entry has no room. On aarch64 one: an address is that of
 * an instruction, a multiple of 4, or lies one byte before, so both have different upper bits.
 * Programs may ask the kernel for addresses with more bits; rules for these are not cached. */
#define MW_CACHE_LOW_BITS (MW_OS_ADDRESS_BITS + MW_CACHE_PC_SHIFT - 64)

typedef struct mw_cache_set {
	_Atomic uint64_t ways[MW_CACHE_WAYS];
} mw_cache_set_t;

extern mw_cache_set_t mw_cache_sets[1u << MW_CACHE_SET_BITS];
extern mw_cache_set_t mw_cache_guards[1u << MW_CACHE_SET_BITS];
/* Returns the offset in bytes of an address's set. There is one set for each 16 bytes of code,
 * which seldom contain more than two calls. A single "and", because it is in the chain of dependent
 * loads of a walk. */
MW_ALWAYS_INLINE uintptr_t mw_cache_offset(uintptr_t pc) {
	return pc & ((((uintptr_t)1 << MW_CACHE_SET_BITS) - 1) * sizeof(mw_cache_set_t));
}

/* Returns whether an entry is that of the address. */
MW_ALWAYS_INLINE bool mw_cache_is_of(uint64_t entry, uintptr_t pc) {
	return entry >> MW_CACHE_PC_SHIFT == pc >> MW_CACHE_LOW_BITS;
}

/* Returns the entry of the address; 0: none. */
MW_ALWAYS_INLINE uint64_t mw_cache_find(uintptr_t pc) {
	const _Atomic uint64_t *ways =
		(const _Atomic uint64_t *)(const void *)((const char *)mw_cache_sets +
							 mw_cache_offset(pc));
	/* Acquire: pairs with the release in mw_cache_put(), for the rule behind a number. */
	uint64_t entry = atomic_load_explicit(&ways[0], memory_order_acquire);
	if (MW_LIKELY(mw_cache_is_of(entry, pc)))
		return entry;
	entry = atomic_load_explicit(&ways[1], memory_order_acquire);
	return MW_LIKELY(mw_cache_is_of(entry, pc)) ? entry : 0;
}

/* Stores a rule's code for an address, forever or as long as its guard is valid. */
void mw_cache_put(uintptr_t pc, uint32_t code);
void mw_cache_put_guarded(uintptr_t pc, uint32_t code, uint64_t guard);

/* Removes all entries, for tests and measurements. No other thread may use the cache. */
void mw_cache_clear(void);

/* Returns the bytes of memory in use, at most those of the two arrays, 512 KiB. */
uint64_t mw_cache_bytes(void);

/* Returns the guard of the address's entry, or any other word while the entry is replaced. */
uint64_t mw_cache_guard(uintptr_t pc);

#endif
