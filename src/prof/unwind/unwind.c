/* SPDX-License-Identifier: MIT
 * unwind.c -- walks the stack: one rule per frame; all reads are inside of a window of the
 * stack. */
#include "prof/unwind/unwind.h"

#include "base/compiler.h"
#include "prof/unwind/program_frames.h"
#include "prof/unwind/walk.h"
#include "prof/unwind/walk_cache.h"
#include "state/layout.h"

#ifdef MW_TESTING
uintptr_t mw_walk_test_own_start, mw_walk_test_own_limit;

void mw_unwind_set_own(uintptr_t start, uintptr_t limit) {
	mw_walk_test_own_start = start;
	mw_walk_test_own_limit = limit;
}
#endif

const char *mw_walk_other_start, *mw_walk_other_limit;

void mw_unwind_add_own_code(const void *start, const void *limit) {
	mw_walk_other_start = start;
	mw_walk_other_limit = limit;
}

void mw_unwind_start(void) {
	mw_os_stack_start();
	mw_os_object_start();
	mw_program_frames_start();
}

/* Walks from a frame on the stack of the window. */
static MW_NOINLINE mw_unwind_result_t walk_from(mw_walk_t *walk, mw_walk_frame_t frame,
						uint64_t *pcs, unsigned max_depth) {
	mw_unwind_result_t result = {0};
	mw_resolver_start(&walk->resolver);
	walk->switches = 0;
	walk->code_page = 0;
	/* Stacks other than the thread's own may disappear, so cached words of them are not
	 * used. */
	mw_walk_cache_t *walk_cache = MW_LIKELY(walk->stack.is_own) ? mw_walk_cache_take() : NULL;
	mw_walk_outcome_t outcome = frame.is_exact ? mw_walk_step(walk, &frame) : MW_WALK_ON;
	if (walk_cache) {
		if (outcome == MW_WALK_ON && !mw_walk_is_slow(&frame)) {
			mw_os_regs_t regs = frame.regs;
			outcome = mw_walk_cache_follow(walk_cache, walk, &regs, pcs, max_depth,
						       &result);
			frame.regs = regs;
		}
		mw_walk_cache_let_go();
	}
	for (unsigned i = 0; i < MW_WALK_OWN_FRAMES_MAX && outcome == MW_WALK_ON &&
			     result.depth == 0 && mw_walk_is_own(frame.regs.pc);
	     i++)
		outcome = mw_walk_step(walk, &frame);
	outcome = mw_walk_go_on(walk, &frame, outcome, pcs, max_depth, &result.depth);
	result.truncated = outcome != MW_WALK_END;
	result.stamps = walk->resolver.stamps;
	result.is_stamped = !walk->resolver.is_incomplete;
	result.met_unknown = walk->resolver.met_unknown;
	return result;
}

MW_ALWAYS_INLINE mw_unwind_result_t capture_places(uint64_t *pcs, uint32_t *places,
						   unsigned max_depth) {
	mw_walk_frame_t frame = {.regs = mw_os_regs_here(), .is_exact = true};
	mw_walk_t walk;
	walk.places = places;
	if (!mw_os_stack_open(&walk.stack, frame.regs.sp))
		return (mw_unwind_result_t){.truncated = true};
	return walk_from(&walk, frame, pcs, max_depth);
}

MW_NOINLINE mw_unwind_result_t mw_unwind_capture(uint64_t *pcs, unsigned max_depth) {
	return capture_places(pcs, NULL, max_depth);
}

MW_TLS const uintptr_t *mw_unwind_entry;

/* Frames of the library from malloc to here are smaller together. A frame that is further away
 * belongs to another call. */
#define ENTRY_MAX_BYTES 32768u

/* Returns the frame of the called function, if it is on this stack. */
MW_ALWAYS_INLINE const uintptr_t *entry_above(uintptr_t sp) {
	const uintptr_t *entry = mw_unwind_entry;
	bool is_here = !MW_OS_HAS_LINK_REGISTER && (uintptr_t)entry - sp < ENTRY_MAX_BYTES;
	return MW_LIKELY(is_here) ? entry : NULL;
}

mw_unwind_result_t mw_unwind_capture_caller(uint64_t *pcs, uint32_t *places, unsigned max_depth) {
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	const uintptr_t *entry = entry_above(sp);
	mw_walk_t walk;
	walk.places = places;
	if (!entry || !mw_os_stack_open(&walk.stack, sp) || !walk.stack.is_own ||
	    (uintptr_t)(entry + 2) > walk.stack.hi)
		return capture_places(pcs, places, max_depth);
	return walk_from(&walk, (mw_walk_frame_t){.regs = mw_os_caller_regs(entry)}, pcs,
			 max_depth);
}

uint64_t mw_unwind_recognise(uint64_t key) {
	const uintptr_t *entry = entry_above((uintptr_t)__builtin_frame_address(0));
	mw_walk_cache_t *walk_cache = entry ? mw_walk_cache_take() : NULL;
	if (MW_UNLIKELY(!walk_cache))
		return 0;
	mw_os_regs_t regs = mw_os_caller_regs(entry);
	uint64_t cached_value = mw_walk_cache_recognise(walk_cache, &regs, key);
	if (cached_value == 0)
		cached_value = mw_stack_cache_find(walk_cache, &regs, key);
	mw_walk_cache_let_go();
	return cached_value;
}

MW_TLS mw_walk_cache_hold_t mw_walk_cache_hold;

void mw_unwind_sampled(uint64_t now_ns, bool is_exact) {
	mw_walk_cache_hold_t *hold = &mw_walk_cache_hold;
	if (MW_UNLIKELY(!hold->walk_cache) && ++hold->samples >= MW_WALK_CACHE_SAMPLES)
		mw_walk_cache_judge(now_ns, is_exact);
}

void mw_unwind_remember(uint64_t generation, uint64_t cached_value, uint64_t key) {
	mw_walk_cache_t *walk_cache = mw_walk_cache_hold.walk_cache;
	if (walk_cache && walk_cache->generation == generation)
		mw_walk_cache_remember(walk_cache, cached_value, key);
}

mw_frame_sums_t *mw_unwind_take_sums(uint64_t generation) {
	mw_walk_cache_t *walk_cache = generation != 0 ? mw_walk_cache_take() : NULL;
	if (!walk_cache || walk_cache->generation == generation)
		return walk_cache ? &walk_cache->sums : NULL;
	mw_walk_cache_let_go();
	return NULL;
}

void mw_unwind_let_sums_go(void) {
	mw_walk_cache_let_go();
}

void mw_unwind_thread_end(void) {
	mw_walk_cache_hold.has_ended = true;
	if (mw_walk_cache_hold.walk_cache)
		mw_walk_cache_end();
}

uint64_t mw_unwind_memory_bytes(void) {
	return mw_cache_bytes() + mw_rule_count() * sizeof(mw_rule_t) +
	       mw_walk_cache_memory_bytes() + mw_program_frames_memory_bytes();
}

unsigned mw_unwind_capture_for(uint64_t *pcs, unsigned max_depth, bool in_handler) {
	unsigned depth = mw_unwind_capture(pcs, max_depth).depth, first = 0;
	if (!in_handler)
		return depth;
	while (first < depth && !(pcs[first] & MW_FRAME_EXACT))
		first++;
	if (first == depth) /* the handler's caller is unknown */
		return depth;
	for (unsigned i = first; i < depth; i++)
		pcs[i - first] = pcs[i];
	return depth - first;
}

/* Most frames between a fork and the library: handlers, functions that they call, and handlers that
 * interrupted others. */
#define INTERRUPTED_DEPTH_MAX 128

bool mw_unwind_is_interrupted(void) {
	uint64_t pcs[INTERRUPTED_DEPTH_MAX];
	unsigned depth = mw_unwind_capture(pcs, INTERRUPTED_DEPTH_MAX).depth;
	bool is_behind_signal = false;
	for (unsigned i = 0; i < depth; i++) {
		is_behind_signal |= (pcs[i] & MW_FRAME_EXACT) != 0;
		if (is_behind_signal && mw_walk_is_own(pcs[i] & ~MW_FRAME_EXACT))
			return true;
	}
	return false;
}

bool mw_unwind_is_in_library(const void *context) {
	uint64_t pcs[INTERRUPTED_DEPTH_MAX];
	unsigned depth =
		mw_unwind_capture_interrupted(context, pcs, NULL, INTERRUPTED_DEPTH_MAX).depth;
	for (unsigned i = 0; i < depth; i++)
		if (mw_walk_is_own(pcs[i] & ~MW_FRAME_EXACT))
			return true;
	return false;
}
