/* SPDX-License-Identifier: MIT
 * walk.h -- types and steps shared by the plain walk (unwind.c), rare frames (step.c) and the
 * walk along the walk cache (walk_cache.c).
 * Layer: prof/unwind. */
#ifndef MW_PROF_UNWIND_WALK_H
#define MW_PROF_UNWIND_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "os/platform/arch.h"
#include "os/unwind/stack.h"
#include "prof/unwind/place.h"
#include "prof/unwind/resolve.h"
#include "prof/unwind/rule/rule.h"
#include "prof/unwind/rule/rule_cache.h"
#include "state/layout.h"

/* Most frames of the library; from malloc to here there are about ten. A walk with more is not in
 * the library. */
#define MW_WALK_OWN_FRAMES_MAX 64
/* The linker defines these symbols around the sections with the library's code
 * (cmake/own_text.cmake). They are absent in unit tests, which do not use these sections. */
#define OWN_TEXT_BOUND __attribute__((weak, visibility("hidden")))
extern const char __start_mallow_text[] OWN_TEXT_BOUND, __stop_mallow_text[] OWN_TEXT_BOUND;
extern const char __start_mallow_cold[] OWN_TEXT_BOUND, __stop_mallow_cold[] OWN_TEXT_BOUND;

typedef enum mw_walk_outcome {
	MW_WALK_ON,
	MW_WALK_END,  /* the outermost frame was reached */
	MW_WALK_LOST, /* the walk cannot go on before the outermost frame */
} mw_walk_outcome_t;

/* State of the walk besides its current frame. */
typedef struct mw_walk {
	mw_stack_window_t stack;
	mw_resolver_t resolver;
	unsigned switches;
	uintptr_t code_page; /* the page of code that was found readable last; 0: none */
	uint32_t *places;    /* gets the place of each frame that is written; NULL: not wanted */
} mw_walk_t;

/* A frame. */
typedef struct mw_walk_frame {
	mw_os_regs_t regs; /* fp == 0: unknown */
	bool is_exact;     /* regs.pc is an instruction, not a return address */
	/* The following fields are used on machines with a link register only. */
	bool is_sp_unknown; /* reached by a frame pointer: regs.sp is a lower limit */
	uintptr_t lr;       /* link register of an exact frame; 0: unknown */
} mw_walk_frame_t;

/* Returns the address to look up: of a return address the byte before it, because the next byte may
 * belong to the next function or rule. */
MW_ALWAYS_INLINE uintptr_t mw_walk_lookup_pc(const mw_walk_frame_t *frame) {
	return frame->regs.pc - !frame->is_exact;
}

/* Steps to the caller's frame of any kind. `entry`: the entry of the cache. */
mw_walk_outcome_t mw_walk_step_slowly(mw_walk_t *walk, mw_walk_frame_t *frame, uint64_t entry);

/* Returns whether the frame's code returns after at most one more instruction, and its caller's
 * registers could be read then. */
bool mw_walk_find_return(mw_walk_t *walk, const mw_walk_frame_t *frame, mw_os_regs_t *caller);

/* Code of another library that counts as this one's (mw_unwind_add_own_code()). */
extern const char *mw_walk_other_start, *mw_walk_other_limit;

static inline bool mw_walk_is_between(uintptr_t pc, const char *start, const char *stop) {
	return pc - (uintptr_t)start < (uintptr_t)stop - (uintptr_t)start;
}

#ifdef MW_TESTING
extern uintptr_t mw_walk_test_own_start, mw_walk_test_own_limit;

static inline bool mw_walk_is_own(uintptr_t pc) {
	return pc - mw_walk_test_own_start < mw_walk_test_own_limit - mw_walk_test_own_start ||
	       mw_walk_is_between(pc, mw_walk_other_start, mw_walk_other_limit);
}
#else
static inline bool mw_walk_is_own(uintptr_t pc) {
	return mw_walk_is_between(pc, __start_mallow_text, __stop_mallow_text) ||
	       mw_walk_is_between(pc, __start_mallow_cold, __stop_mallow_cold) ||
	       mw_walk_is_between(pc, mw_walk_other_start, mw_walk_other_limit);
}
#endif

static inline bool mw_walk_is_aligned(uintptr_t address) {
	return address % sizeof(uintptr_t) == 0;
}

/* Steps to the caller's frame by a rule in the cache entry itself. Returns false if the entry has
 * none. The frame stays in registers, so that a step takes as long as two loads: of the entry and
 * of the return address. */
MW_ALWAYS_INLINE bool mw_walk_step_fast(const mw_walk_t *walk, mw_os_regs_t *regs, uint64_t entry) {
	if (MW_UNLIKELY((entry & (MW_CACHE_GUARDED | MW_RULE_INLINE)) != MW_RULE_INLINE))
		return false;
	uintptr_t offset = (entry & MW_RULE_INLINE_WORDS_MASK) * 8, cfa = regs->sp + offset;
	/* base <= address < cfa <= hi: the read is inside of the stack. sp is aligned and not above
	 * hi; fp may have any value. */
	if (entry & MW_RULE_INLINE_BY_FP) {
		cfa = regs->fp + offset;
		if (MW_UNLIKELY(regs->fp < regs->sp || cfa <= regs->fp || !mw_walk_is_aligned(cfa)))
			return false;
	}
	if (MW_UNLIKELY(cfa > walk->stack.hi))
		return false;
	const uintptr_t *words = (const uintptr_t *)cfa;
	unsigned slot = entry >> MW_RULE_INLINE_SLOT_SHIFT & MW_RULE_INLINE_SLOT_MASK;
	if (slot)
		regs->fp = words[-1 - (int)slot];
	regs->pc = mw_os_code_address(words[-1]);
	regs->sp = cfa;
	return true;
}

/* Returns whether the frame cannot use rules that start from sp. */
MW_ALWAYS_INLINE bool mw_walk_is_slow(const mw_walk_frame_t *frame) {
	return MW_OS_HAS_LINK_REGISTER && frame->is_sp_unknown;
}

/* Steps out of any frame. The argument is copied, so that the original stays in registers. */
MW_ALWAYS_INLINE mw_walk_outcome_t mw_walk_step(mw_walk_t *walk, mw_walk_frame_t *frame) {
	uint64_t entry = mw_cache_find(mw_walk_lookup_pc(frame));
	if (MW_LIKELY(!mw_walk_is_slow(frame) && mw_walk_step_fast(walk, &frame->regs, entry))) {
		frame->is_exact = false;
		return MW_LIKELY(frame->regs.pc != 0) ? MW_WALK_ON : MW_WALK_END;
	}
	mw_walk_frame_t copy = *frame;
	mw_walk_outcome_t outcome = mw_walk_step_slowly(walk, &copy, entry);
	*frame = copy;
	return outcome;
}

/* Walks frames of return addresses with fast rules, writes their PCs and returns their number.
 * Stops before any other frame, after `max` frames, or with pc == 0 behind the outermost frame. */
MW_ALWAYS_INLINE unsigned mw_walk_run_fast(const mw_walk_t *walk, mw_walk_frame_t *frame,
					   uint64_t *pcs, unsigned max) {
	unsigned count = 0;
	mw_os_regs_t regs = frame->regs;
	while (count < max && regs.pc != 0) {
		uintptr_t pc = regs.pc;
		if (!mw_walk_step_fast(walk, &regs, mw_cache_find(pc - 1)))
			break;
		pcs[count++] = pc;
	}
	frame->regs = regs;
	return count;
}

/* Writes the PCs of the frames from *frame outwards, behind the *depth ones that are there. */
MW_ALWAYS_INLINE mw_walk_outcome_t mw_walk_go_on(mw_walk_t *walk, mw_walk_frame_t *frame,
						 mw_walk_outcome_t outcome, uint64_t *pcs,
						 unsigned max_depth, unsigned *depth) {
	while (outcome == MW_WALK_ON && *depth < max_depth) {
		if (MW_LIKELY(!frame->is_exact && !mw_walk_is_slow(frame) && !walk->places)) {
			*depth += mw_walk_run_fast(walk, frame, pcs + *depth, max_depth - *depth);
			if (frame->regs.pc == 0)
				outcome = MW_WALK_END;
			if (outcome == MW_WALK_END || *depth == max_depth)
				break;
		}
		if (MW_UNLIKELY(walk->places))
			walk->places[*depth] = MW_UNWIND_PLACE(frame->regs.sp);
		pcs[(*depth)++] = frame->regs.pc | (frame->is_exact ? MW_FRAME_EXACT : 0);
		outcome = mw_walk_step(walk, frame);
	}
	return outcome;
}

#endif
