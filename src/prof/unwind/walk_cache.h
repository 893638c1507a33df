/* SPDX-License-Identifier: MIT
 * walk_cache.h -- the frames of a thread's last walk, which speed up the next walk.
 * Layer: prof/unwind. Most of a stack does not change from one sample to the next. A walk that
 * comes to a frame of the last walk needs no rules from there on: the cache knows which words
 * the rules read, and the walk compares them. Where a word differs the walk goes on as usual.
 *
 * doc/internals/unwinding.md shows that the result equals that of a walk without the cache.
 *
 * A thread gets a walk cache when it samples often. The cache belongs to the thread; a signal
 * handler that interrupts its use walks without it. */
#ifndef MW_PROF_UNWIND_WALK_CACHE_H
#define MW_PROF_UNWIND_WALK_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "os/platform/arch.h"
#include "prof/unwind/stack_cache.h"
#include "prof/unwind/unwind.h"
#include "prof/unwind/walk.h"

_Static_assert(MW_WALK_CACHE_FRAMES < UINT16_MAX, "numbers of frames and of their words");

/* A frame, with its registers and the rule by which the walk left it. */
typedef struct mw_cached_frame {
	uintptr_t sp;
	uintptr_t pc; /* 0: the frame behind the outermost one */
	uintptr_t fp;
	uint16_t code;   /* code of the rule that leads to the caller */
	uint16_t checks; /* this many first entries of the cache's checks prove the frames further
			    out */
	/* Object that contains the code, an index into the cache's objects from 1 on; 0: code that
	 * is never unloaded. */
	uint8_t object;
	bool fp_matters; /* frames further out depend on fp */
	uint8_t objects; /* objects from this frame outwards: one bit for each number */
} mw_cached_frame_t;

typedef struct mw_walk_cache {
	unsigned count; /* number of `frames`, outermost first; 0: the cache is empty */
	unsigned kept;  /* number of them that the last walk did not replace */
	unsigned object_count;
	uint64_t generation;   /* raised when the walk is stored anew */
	uint64_t cached_value; /* number from mw_unwind_remember(); 0: none */
	uint64_t cached_key;   /* key that came with it */
	mw_os_object_t objects[MW_WALK_CACHE_OBJECTS];
	mw_cached_frame_t frames[MW_WALK_CACHE_FRAMES];
	/* generation of the cache when each frame was stored */
	uint64_t generations[MW_WALK_CACHE_FRAMES];
	mw_frame_sums_t sums; /* of `frames` without those of the library */
	/* Number of objects in `frames`, from the leaf outwards; valid if there is a cached_value.
	 */
	unsigned place_count;
	mw_walk_cache_position_t places[MW_WALK_CACHE_OBJECTS];
	/* Frames of the current walk that were not cached, innermost first. */
	mw_cached_frame_t fresh[MW_WALK_CACHE_FRAMES];
	/* A return address and a frame pointer of each frame, in the order of `frames`. */
	mw_walk_cache_check_t checks[2 * MW_WALK_CACHE_FRAMES];
	mw_stack_cache_t stacks;
} mw_walk_cache_t;

/* A thread's walk cache and its use. */
typedef struct mw_walk_cache_hold {
	mw_walk_cache_t *walk_cache; /* NULL: none */
	bool is_taken, has_ended;
	unsigned samples; /* samples since `since_ns`, while the thread has no walk cache */
	uint64_t since_ns;
} mw_walk_cache_hold_t;

_Static_assert(MW_WALK_CACHE_OBJECTS < 8, "bits of a frame's objects");

extern MW_TLS mw_walk_cache_hold_t mw_walk_cache_hold;

/* Takes the thread's walk cache. NULL: there is none, or the walk that this one interrupted uses
 * it. */
MW_ALWAYS_INLINE mw_walk_cache_t *mw_walk_cache_take(void) {
	if (MW_LIKELY(!mw_walk_cache_hold.walk_cache) || mw_walk_cache_hold.is_taken)
		return NULL;
	mw_walk_cache_hold.is_taken = true;
	/* For the compiler: signal handlers of this thread run before or after. */
	__asm__ volatile("" ::: "memory");
	return mw_walk_cache_hold.walk_cache;
}

MW_ALWAYS_INLINE void mw_walk_cache_let_go(void) {
	__asm__ volatile("" ::: "memory");
	mw_walk_cache_hold.is_taken = false;
}

/* Returns whether the walk has reached this cached frame, as far as frames further out depend on
 * it. */
MW_ALWAYS_INLINE bool mw_walk_cache_is_met(const mw_cached_frame_t *frame,
					   const mw_os_regs_t *regs) {
	return frame->sp == regs->sp && frame->pc == regs->pc &&
	       (frame->fp == regs->fp || !frame->fp_matters);
}

/* Returns whether all words that the rules from this frame on read are unchanged. The frame is on
 * the current stack, so the words can be read. */
MW_ALWAYS_INLINE bool mw_walk_cache_are_words_the_same(const mw_walk_cache_t *walk_cache,
						       const mw_cached_frame_t *frame) {
	const mw_walk_cache_check_t *check = walk_cache->checks, *end = check + frame->checks;
	for (; end - check >= 4; check += 4)
		if ((*check[0].address ^ check[0].word) | (*check[1].address ^ check[1].word) |
		    (*check[2].address ^ check[2].word) | (*check[3].address ^ check[3].word))
			return false;
	for (; check < end; check++)
		if (*check->address != check->word)
			return false;
	return true;
}

/* Walks from `regs`, which the last return address led to, and writes PCs that are not the
 * library's. MW_WALK_END: the walk is complete. MW_WALK_ON: the normal walk continues from
 * *regs. */
mw_walk_outcome_t mw_walk_cache_follow(mw_walk_cache_t *walk_cache, mw_walk_t *walk,
				       mw_os_regs_t *regs, uint64_t *pcs, unsigned max_depth,
				       mw_unwind_result_t *result);
/* Stores the number with the last walk. */
void mw_walk_cache_remember(mw_walk_cache_t *walk_cache, uint64_t cached_value, uint64_t key);
/* Returns whether these objects, of the walk cache or of a cached stack, are still loaded. */
MW_NOINLINE bool mw_walk_cache_are_objects_there(const mw_walk_cache_t *walk_cache,
						 const mw_walk_cache_position_t *places,
						 unsigned count);

/* Returns the number that was noted with the key for the cached walk, if a walk from `regs` would
 * give the same stack; else 0. `regs`: registers that a call left. */
MW_ALWAYS_INLINE uint64_t mw_walk_cache_recognise(const mw_walk_cache_t *walk_cache,
						  const mw_os_regs_t *regs, uint64_t key) {
	if (walk_cache->cached_value == 0 || walk_cache->count == 0 ||
	    walk_cache->cached_key != key)
		return 0;
	const mw_cached_frame_t *leaf = &walk_cache->frames[walk_cache->count - 1];
	if (!mw_walk_cache_is_met(leaf, regs) ||
	    !mw_walk_cache_are_words_the_same(walk_cache, leaf))
		return 0;
	if (MW_UNLIKELY(walk_cache->place_count > 0) &&
	    !mw_walk_cache_are_objects_there(walk_cache, walk_cache->places,
					     walk_cache->place_count))
		return 0;
	return walk_cache->cached_value;
}

/* Number of samples after which mw_walk_cache_judge() is called. */
#define MW_WALK_CACHE_SAMPLES 64u
/* Gives the thread a walk cache if its last samples came within a short time, or if it records
 * every allocation. */
void mw_walk_cache_judge(uint64_t now_ns, bool is_exact);
/* Releases the thread's walk cache. */
void mw_walk_cache_end(void);

uint64_t mw_walk_cache_memory_bytes(void);

#endif
