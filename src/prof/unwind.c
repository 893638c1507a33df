/* SPDX-License-Identifier: MIT
 * unwind.c -- walks the stack: one rule a frame, every read inside a window of the stack. */
#include "prof/unwind.h"

#include "base/compiler.h"
#include "os/arch.h"
#include "os/stack.h"
#include "prof/unwind_cache.h"
#include "prof/unwind_resolve.h"
#include "state/layout.h"

/* From malloc to here is about ten calls; a walk that finds more is not in the library. */
#define OWN_FRAMES_MAX 64
/* Changes of stack in one walk (signal handlers on their own stack, coroutines): each may cost the
 * kernel's answer for some pages. */
#define SWITCHES_MAX 16

/* The linker defines these around the two sections that hold all of the library's code
 * (cmake/own_text.cmake); absent where the objects were not put into them (unit tests). */
#define OWN_TEXT_BOUND __attribute__((weak, visibility("hidden")))
extern const char __start_mallow_text[] OWN_TEXT_BOUND, __stop_mallow_text[] OWN_TEXT_BOUND;
extern const char __start_mallow_cold[] OWN_TEXT_BOUND, __stop_mallow_cold[] OWN_TEXT_BOUND;

typedef enum outcome {
	WALK_ON,
	WALK_END,  /* the outermost frame was reached */
	WALK_LOST, /* it was not, but nothing more is known */
} outcome_t;

/* A frame. */
typedef struct frame {
	mw_os_regs_t regs; /* fp == 0: not known */
	bool is_exact;     /* regs.pc is an instruction, not a return address */
	/* On machines with a link register only: */
	bool is_sp_unknown; /* reached by a frame pointer: regs.sp is the least it can be */
	uintptr_t lr;       /* of an exact frame; 0: not known */
} frame_t;

/* What the walk keeps beside the frame it is in. */
typedef struct walk {
	mw_stack_window_t stack;
	mw_resolver_t resolver;
	unsigned switches;
} walk_t;

#ifdef MW_TESTING
static uintptr_t test_own_start, test_own_limit;

void mw_unwind_set_own(uintptr_t start, uintptr_t limit) {
	test_own_start = start;
	test_own_limit = limit;
}

static bool is_own(uintptr_t pc) {
	return pc - test_own_start < test_own_limit - test_own_start;
}
#else
static bool is_between(uintptr_t pc, const char *start, const char *stop) {
	return pc - (uintptr_t)start < (uintptr_t)stop - (uintptr_t)start;
}

static bool is_own(uintptr_t pc) {
	return is_between(pc, __start_mallow_text, __stop_mallow_text) ||
	       is_between(pc, __start_mallow_cold, __stop_mallow_cold);
}
#endif

static bool is_aligned(uintptr_t address) {
	return address % sizeof(uintptr_t) == 0;
}

static bool load(walk_t *walk, uintptr_t address, uintptr_t *value) {
	return mw_os_stack_load(&walk->stack, address, value);
}

static outcome_t enter(frame_t *frame, mw_os_regs_t regs, bool is_exact) {
	if (!is_exact)
		regs.pc = mw_os_code_address(regs.pc);
	*frame = (frame_t){.regs = regs, .is_exact = is_exact};
	return regs.pc != 0 ? WALK_ON : WALK_END;
}

/* Goes over to the stack that holds `address`, if the walk is not on it already. */
static bool switch_stack(walk_t *walk, uintptr_t address) {
	/* hi: an outermost frame may end with its stack; what is not there is not read. */
	if (address >= walk->stack.lo && address <= walk->stack.hi)
		return true;
	return walk->switches++ < SWITCHES_MAX && mw_os_stack_open(&walk->stack, address);
}

/* Code that changes stacks while the frame pointer stays with the old one, as Go's does around
 * calls of C: believed if just one of the two stacks is the thread's own and code is returned to.
 */
static outcome_t step_to_other_stack(walk_t *walk, frame_t *frame) {
	uintptr_t fp = frame->regs.fp;
	bool was_own = walk->stack.is_own;
	mw_os_regs_t caller = {.sp = fp + 2 * sizeof(uintptr_t)};
	mw_os_object_t object;
	if (walk->switches++ >= SWITCHES_MAX || !mw_os_stack_open(&walk->stack, fp) ||
	    walk->stack.is_own == was_own || !load(walk, fp, &caller.fp) ||
	    !load(walk, fp + sizeof(uintptr_t), &caller.pc) ||
	    !mw_os_object_find(mw_os_code_address(caller.pc) - 1, &object))
		return WALK_LOST;
	outcome_t outcome = enter(frame, caller, false);
	frame->is_sp_unknown = MW_OS_HAS_LINK_REGISTER;
	return outcome;
}

/* The function that a signal interrupted, from what the kernel left on the stack. */
static outcome_t step_to_interrupted(walk_t *walk, frame_t *frame) {
	uintptr_t sp = frame->regs.sp, lr;
	mw_os_regs_t regs;
	if (!load(walk, sp + MW_OS_SIGNAL_FP, &regs.fp) || !load(walk, sp + MW_OS_SIGNAL_LR, &lr) ||
	    !load(walk, sp + MW_OS_SIGNAL_SP, &regs.sp) ||
	    !load(walk, sp + MW_OS_SIGNAL_PC, &regs.pc) || !is_aligned(regs.sp) ||
	    !switch_stack(walk, regs.sp))
		return WALK_LOST;
	outcome_t outcome = enter(frame, regs, true);
	frame->lr = lr;
	return outcome;
}

static bool is_signal_return(const frame_t *frame) {
	uintptr_t pc = frame->regs.pc;
	return MW_OS_HAS_LINK_REGISTER && pc % sizeof(uint32_t) == 0 && mw_os_is_readable(pc) &&
	       mw_os_is_signal_return((const uint32_t *)pc);
}

/* Code without rules: the frame pointer, if it is one, leads to the caller's. */
static outcome_t step_by_frame_pointer(walk_t *walk, frame_t *frame) {
	if (is_signal_return(frame))
		return step_to_interrupted(walk, frame);
	uintptr_t fp = frame->regs.fp;
	mw_os_regs_t caller = {.sp = fp + 2 * sizeof(uintptr_t)};
	/* The ABI's mark of the outermost frame. */
	if (fp == 0)
		return WALK_END;
	if (!is_aligned(fp))
		return WALK_LOST;
	if (fp < frame->regs.sp || !load(walk, fp, &caller.fp) ||
	    !load(walk, fp + sizeof(uintptr_t), &caller.pc))
		return step_to_other_stack(walk, frame);
	outcome_t outcome = enter(frame, caller, false);
	frame->is_sp_unknown = MW_OS_HAS_LINK_REGISTER;
	return outcome;
}

static bool base_address(const frame_t *frame, uint8_t base, uintptr_t cfa, uintptr_t *address) {
	switch (base) {
	case MW_BASE_SP:
	case MW_BASE_SP_LOAD:
		*address = frame->regs.sp;
		return true;
	case MW_BASE_FP:
	case MW_BASE_FP_LOAD:
		*address = frame->regs.fp;
		return true;
	case MW_BASE_CFA:
		*address = cfa;
		return true;
	default:
		return false;
	}
}

/* Loads a word that a rule places, perhaps on another stack. */
static bool load_placed(walk_t *walk, uintptr_t base, int32_t offset, uintptr_t *value) {
	uintptr_t address = base + (uintptr_t)(intptr_t)offset;
	if (!is_aligned(address))
		return false;
	return load(walk, address, value) ||
	       (switch_stack(walk, address) && load(walk, address, value));
}

/* Any rule: signal frames, realigned frames, code that changed stacks. */
static outcome_t step_by_rule(walk_t *walk, frame_t *frame, const mw_rule_t *rule) {
	uintptr_t cfa, ra_base, fp_base, fp = 0, pc;
	bool is_loaded = rule->cfa_base == MW_BASE_SP_LOAD || rule->cfa_base == MW_BASE_FP_LOAD;
	if (!base_address(frame, rule->cfa_base, 0, &cfa))
		return WALK_LOST;
	if (is_loaded && !load_placed(walk, cfa, rule->cfa_offset, &cfa))
		return WALK_LOST;
	cfa += (uintptr_t)(intptr_t)(is_loaded ? rule->cfa_add : rule->cfa_offset);
	/* The frame pointer of a function that saved its caller's leads to where it did. */
	if (frame->is_sp_unknown && rule->cfa_base != MW_BASE_FP) {
		if (rule->cfa_base != MW_BASE_SP || rule->fp_base != MW_BASE_CFA)
			return WALK_LOST;
		cfa = frame->regs.fp - (uintptr_t)(intptr_t)rule->fp_offset;
	}
	/* A frame cannot end below where it began, unless something else than sp led to its end; a
	 * leaf that keeps everything in registers has none. */
	bool is_empty = rule->ra_base == MW_BASE_SAME && cfa == frame->regs.sp;
	if (!is_aligned(cfa) ||
	    (rule->cfa_base == MW_BASE_SP && cfa <= frame->regs.sp && !is_empty))
		return WALK_LOST;
	/* A call overwrites the link register: only the interrupted function's is of use.  A
	 * function that has called, and yet neither a frame nor its return address elsewhere, was
	 * not called: makecontext(3) lays the address of one there. */
	if (is_empty && !frame->is_exact)
		return WALK_END;
	if (rule->ra_base == MW_BASE_SAME)
		pc = frame->lr;
	else if (!base_address(frame, rule->ra_base, cfa, &ra_base) ||
		 !load_placed(walk, ra_base, rule->ra_offset, &pc))
		return WALK_LOST;
	if (rule->ra_base == MW_BASE_SAME && pc == 0)
		return WALK_LOST;
	/* A frame pointer that cannot be had ends the walk only if a later rule asks for it. */
	if (rule->fp_base == MW_BASE_SAME)
		fp = frame->regs.fp;
	else if (!base_address(frame, rule->fp_base, cfa, &fp_base) ||
		 !load_placed(walk, fp_base, rule->fp_offset, &fp))
		fp = 0;
	/* A handler's stack is left here for that of the interrupted function. */
	if (pc != 0 && !switch_stack(walk, cfa))
		return WALK_LOST;
	return enter(frame, (mw_os_regs_t){.pc = pc, .sp = cfa, .fp = fp}, rule->is_signal);
}

/* A return address may be the first byte of the next function, or of the next rule's range: the
 * call is the byte before. */
MW_ALWAYS_INLINE uintptr_t lookup_pc(const frame_t *frame) {
	return frame->regs.pc - !frame->is_exact;
}

static MW_NOINLINE outcome_t step_slowly(walk_t *walk, frame_t *frame, uint64_t entry) {
	mw_rule_t rule = mw_resolve(&walk->resolver, lookup_pc(frame), entry);
	switch (rule.kind) {
	case MW_RULE_PLAIN:
	case MW_RULE_GENERAL:
		return step_by_rule(walk, frame, &rule);
	case MW_RULE_FRAME_POINTER:
		return step_by_frame_pointer(walk, frame);
	case MW_RULE_END:
		return WALK_END;
	default:
		return WALK_LOST;
	}
}

/* Moves on to the caller's frame by a rule that stands in the cache entry itself: false when there
 * is none.  All of the frame is in registers: what a frame costs is the latency of two loads, of
 * the entry and of the return address. */
MW_ALWAYS_INLINE bool step_fast(const walk_t *walk, mw_os_regs_t *regs, uint64_t entry) {
	if (MW_UNLIKELY((entry & (MW_CACHE_GUARDED | MW_RULE_INLINE)) != MW_RULE_INLINE))
		return false;
	uintptr_t offset = (entry & MW_RULE_INLINE_WORDS_MASK) * 8, cfa = regs->sp + offset;
	/* base <= what is read < cfa <= hi: inside the stack.  Of sp it is known that it is aligned
	 * and not beyond hi, of fp nothing. */
	if (entry & MW_RULE_INLINE_BY_FP) {
		cfa = regs->fp + offset;
		if (MW_UNLIKELY(regs->fp < regs->sp || cfa <= regs->fp || !is_aligned(cfa)))
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

/* Not for rules that start from sp. */
MW_ALWAYS_INLINE bool is_slow(const frame_t *frame) {
	return MW_OS_HAS_LINK_REGISTER && frame->is_sp_unknown;
}

/* Any frame.  By copy: its address never leaves this function, so it stays in registers. */
MW_ALWAYS_INLINE outcome_t step(walk_t *walk, frame_t *frame) {
	uint64_t entry = mw_cache_find(lookup_pc(frame));
	if (MW_LIKELY(!is_slow(frame) && step_fast(walk, &frame->regs, entry))) {
		frame->is_exact = false;
		return MW_LIKELY(frame->regs.pc != 0) ? WALK_ON : WALK_END;
	}
	frame_t copy = *frame;
	outcome_t outcome = step_slowly(walk, &copy, entry);
	*frame = copy;
	return outcome;
}

/* Passes frames of return addresses and fast rules, and writes them down; returns how many.  Ends
 * before a frame that is neither, after `max` frames, or with pc == 0 behind the outermost. */
MW_ALWAYS_INLINE unsigned run_fast(const walk_t *walk, frame_t *frame, uint64_t *pcs,
				   unsigned max) {
	unsigned count = 0;
	mw_os_regs_t regs = frame->regs;
	while (count < max && regs.pc != 0) {
		uintptr_t pc = regs.pc;
		if (!step_fast(walk, &regs, mw_cache_find(pc - 1)))
			break;
		pcs[count++] = pc;
	}
	frame->regs = regs;
	return count;
}

MW_RESIDENT void mw_unwind_start(void) {
	mw_os_stack_start();
	mw_os_object_start();
}

MW_NOINLINE mw_unwind_result_t mw_unwind_capture(uint64_t *pcs, unsigned max_depth) {
	frame_t frame = {.regs = mw_os_regs_here(), .is_exact = true};
	walk_t walk;
	mw_unwind_result_t result = {.depth = 0, .truncated = true};
	if (!mw_os_stack_open(&walk.stack, frame.regs.sp))
		return result;
	mw_resolver_start(&walk.resolver);
	walk.switches = 0;
	outcome_t outcome = step(&walk, &frame);
	for (unsigned i = 0; i < OWN_FRAMES_MAX && outcome == WALK_ON && is_own(frame.regs.pc); i++)
		outcome = step(&walk, &frame);
	while (outcome == WALK_ON && result.depth < max_depth) {
		if (MW_LIKELY(!frame.is_exact && !is_slow(&frame))) {
			result.depth += run_fast(&walk, &frame, pcs + result.depth,
						 max_depth - result.depth);
			if (frame.regs.pc == 0)
				outcome = WALK_END;
			if (outcome == WALK_END || result.depth == max_depth)
				break;
		}
		pcs[result.depth++] = frame.regs.pc | (frame.is_exact ? MW_FRAME_EXACT : 0);
		outcome = step(&walk, &frame);
	}
	result.truncated = outcome != WALK_END;
	result.stamps = walk.resolver.stamps;
	result.is_stamped = !walk.resolver.is_incomplete;
	return result;
}

uint64_t mw_unwind_memory_bytes(void) {
	return mw_cache_bytes() + mw_rule_count() * sizeof(mw_rule_t);
}

unsigned mw_unwind_capture_for(uint64_t *pcs, unsigned max_depth, bool in_handler) {
	unsigned depth = mw_unwind_capture(pcs, max_depth).depth, first = 0;
	if (!in_handler)
		return depth;
	while (first < depth && !(pcs[first] & MW_FRAME_EXACT))
		first++;
	if (first == depth) /* the handler's caller is not known */
		return depth;
	for (unsigned i = first; i < depth; i++)
		pcs[i - first] = pcs[i];
	return depth - first;
}
