/* SPDX-License-Identifier: MIT
 * unwind_walk.h -- what a walk consists of, shared by the plain one (unwind.c), single slow steps
 * (unwind_step.c) and the one along a trail (unwind_trail.c).
 * Layer: prof. */
#ifndef MW_PROF_UNWIND_WALK_H
#define MW_PROF_UNWIND_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "os/arch.h"
#include "os/stack.h"
#include "prof/unwind_cache.h"
#include "prof/unwind_resolve.h"
#include "prof/unwind_rule.h"

/* From malloc to here is about ten calls; a walk that finds more is not in the library. */
#define MW_WALK_OWN_FRAMES_MAX 64
/* The linker defines these around the two sections that hold all of the library's code
 * (cmake/own_text.cmake); absent where the objects were not put into them (unit tests). */
#define OWN_TEXT_BOUND __attribute__((weak, visibility("hidden")))
extern const char __start_mallow_text[] OWN_TEXT_BOUND, __stop_mallow_text[] OWN_TEXT_BOUND;
extern const char __start_mallow_cold[] OWN_TEXT_BOUND, __stop_mallow_cold[] OWN_TEXT_BOUND;

typedef enum mw_walk_outcome {
	MW_WALK_ON,
	MW_WALK_END,  /* the outermost frame was reached */
	MW_WALK_LOST, /* it was not, but nothing more is known */
} mw_walk_outcome_t;

/* What the walk keeps beside the frame it is in. */
typedef struct mw_walk {
	mw_stack_window_t stack;
	mw_resolver_t resolver;
	unsigned switches;
} mw_walk_t;

/* A frame. */
typedef struct mw_walk_frame {
	mw_os_regs_t regs; /* fp == 0: not known */
	bool is_exact;     /* regs.pc is an instruction, not a return address */
	/* On machines with a link register only: */
	bool is_sp_unknown; /* reached by a frame pointer: regs.sp is the least it can be */
	uintptr_t lr;       /* of an exact frame; 0: not known */
} mw_walk_frame_t;

/* A return address may be the first byte of the next function, or of the next rule's range: the
 * call is the byte before. */
MW_ALWAYS_INLINE uintptr_t mw_walk_lookup_pc(const mw_walk_frame_t *frame) {
	return frame->regs.pc - !frame->is_exact;
}

/* Moves on to the caller's frame, whatever kind it is of; `entry` is what the cache said. */
mw_walk_outcome_t mw_walk_step_slowly(mw_walk_t *walk, mw_walk_frame_t *frame, uint64_t entry);

#ifdef MW_TESTING
extern uintptr_t mw_walk_test_own_start, mw_walk_test_own_limit;

static inline bool mw_walk_is_own(uintptr_t pc) {
	return pc - mw_walk_test_own_start < mw_walk_test_own_limit - mw_walk_test_own_start;
}
#else
static inline bool mw_walk_is_between(uintptr_t pc, const char *start, const char *stop) {
	return pc - (uintptr_t)start < (uintptr_t)stop - (uintptr_t)start;
}

static inline bool mw_walk_is_own(uintptr_t pc) {
	return mw_walk_is_between(pc, __start_mallow_text, __stop_mallow_text) ||
	       mw_walk_is_between(pc, __start_mallow_cold, __stop_mallow_cold);
}
#endif

static inline bool mw_walk_is_aligned(uintptr_t address) {
	return address % sizeof(uintptr_t) == 0;
}

/* Moves on to the caller's frame by a rule that stands in the cache entry itself: false when there
 * is none.  All of the frame is in registers: what a frame costs is the latency of two loads, of
 * the entry and of the return address. */
MW_ALWAYS_INLINE bool mw_walk_step_fast(const mw_walk_t *walk, mw_os_regs_t *regs, uint64_t entry) {
	if (MW_UNLIKELY((entry & (MW_CACHE_GUARDED | MW_RULE_INLINE)) != MW_RULE_INLINE))
		return false;
	uintptr_t offset = (entry & MW_RULE_INLINE_WORDS_MASK) * 8, cfa = regs->sp + offset;
	/* base <= what is read < cfa <= hi: inside the stack.  Of sp it is known that it is aligned
	 * and not beyond hi, of fp nothing. */
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

#endif
