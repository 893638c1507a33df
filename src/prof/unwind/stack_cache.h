/* SPDX-License-Identifier: MIT
 * stack_cache.h -- cache of a thread's last stacks, each stored as its difference from the walk
 * cache.
 * Layer: prof/unwind. A program that allocates from a few call sites in turn has stacks that
 * differ in their innermost frames alone. Each cached stack holds its own innermost frames and
 * the frame of the walk cache from which on it is equal. Such a stack is recognised without a
 * walk, and the walk cache stays as it is.
 *
 * doc/internals/unwinding.md shows that the result equals that of a walk. Thread-local, as the walk
 * cache. */
#ifndef MW_PROF_UNWIND_STACK_CACHE_H
#define MW_PROF_UNWIND_STACK_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "os/platform/arch.h"

/* Most objects that may be unloaded. A walk through more of them does not use the cache. */
#define MW_WALK_CACHE_OBJECTS 4u

/* A word that a rule read and that affects the walk. */
typedef struct mw_walk_cache_check {
	const uintptr_t *address;
	uintptr_t word;
} mw_walk_cache_check_t;

/* An object that may be unloaded, and its innermost frame. */
typedef struct mw_walk_cache_position {
	uintptr_t pc;
	unsigned object; /* number of the object, from 1 on */
} mw_walk_cache_position_t;

/* Most words of a cached stack: 12 frames in general. Other stacks are not cached. */
#define MW_STACK_CACHE_CHECKS 12u

typedef struct mw_cached_stack {
	uintptr_t sp, pc, fp;  /* registers of the leaf; pc 0: the entry is empty */
	uint64_t cached_value; /* number from mw_unwind_remember() */
	uint64_t cached_key;   /* key that came with it */
	uint64_t generation;   /* generation of the frame of the walk cache at which the stack joins
				  it */
	uint16_t join;         /* number of that frame */
	bool fp_matters;
	uint8_t check_count, place_count;
	mw_walk_cache_position_t
		/* Objects that may be unloaded in the whole stack, from the leaf on. */
		places[MW_WALK_CACHE_OBJECTS];
	mw_walk_cache_check_t checks[MW_STACK_CACHE_CHECKS]; /* words, outermost first */
} mw_cached_stack_t;

/* 64 entries in total. A lookup searches the set of one leaf's stack address. */
#define MW_STACK_CACHE_SETS 16u
#define MW_STACK_CACHE_WAYS 4u

typedef struct mw_stack_cache {
	mw_cached_stack_t of[MW_STACK_CACHE_SETS][MW_STACK_CACHE_WAYS];
	uint8_t next[MW_STACK_CACHE_SETS]; /* the entry of each set that is replaced next */
} mw_stack_cache_t;

struct mw_walk_cache;

/* Returns the number that was noted with the key for the cached stack that a walk from `regs` would
 * give. `regs`: registers that a call left. 0: the stack is not cached. */
uint64_t mw_stack_cache_find(const struct mw_walk_cache *walk_cache, const mw_os_regs_t *regs,
			     uint64_t key);
/* Adds the stack of the walk cache, for which a number was noted. */
void mw_stack_cache_add(struct mw_walk_cache *walk_cache);

#endif
