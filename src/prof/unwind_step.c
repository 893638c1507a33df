/* SPDX-License-Identifier: MIT
 * unwind_step.c -- from one frame to the next by whatever there is: any rule, frame pointers, other
 * stacks. */
#include "base/compiler.h"
#include "prof/unwind_walk.h"

/* Changes of stack in one walk (signal handlers on their own stack, coroutines): each may cost the
 * kernel's answer for some pages. */
#define SWITCHES_MAX 16

static bool load(mw_walk_t *walk, uintptr_t address, uintptr_t *value) {
	return mw_os_stack_load(&walk->stack, address, value);
}

static mw_walk_outcome_t enter(mw_walk_frame_t *frame, mw_os_regs_t regs, bool is_exact) {
	if (!is_exact)
		regs.pc = mw_os_code_address(regs.pc);
	*frame = (mw_walk_frame_t){.regs = regs, .is_exact = is_exact};
	return regs.pc != 0 ? MW_WALK_ON : MW_WALK_END;
}

/* Goes over to the stack that holds `address`, if the walk is not on it already. */
static bool switch_stack(mw_walk_t *walk, uintptr_t address) {
	/* hi: an outermost frame may end with its stack; what is not there is not read. */
	if (address >= walk->stack.lo && address <= walk->stack.hi)
		return true;
	return walk->switches++ < SWITCHES_MAX && mw_os_stack_open(&walk->stack, address);
}

/* Code that changes stacks while the frame pointer stays with the old one, as Go's does around
 * calls of C: believed if just one of the two stacks is the thread's own and code is returned to.
 */
static mw_walk_outcome_t step_to_other_stack(mw_walk_t *walk, mw_walk_frame_t *frame) {
	uintptr_t fp = frame->regs.fp;
	bool was_own = walk->stack.is_own;
	mw_os_regs_t caller = {.sp = fp + 2 * sizeof(uintptr_t)};
	mw_os_object_t object;
	if (walk->switches++ >= SWITCHES_MAX || !mw_os_stack_open(&walk->stack, fp) ||
	    walk->stack.is_own == was_own || !load(walk, fp, &caller.fp) ||
	    !load(walk, fp + sizeof(uintptr_t), &caller.pc) ||
	    !mw_os_object_find(mw_os_code_address(caller.pc) - 1, &object))
		return MW_WALK_LOST;
	mw_walk_outcome_t outcome = enter(frame, caller, false);
	frame->is_sp_unknown = MW_OS_HAS_LINK_REGISTER;
	return outcome;
}

/* The function that a signal interrupted, from what the kernel left on the stack. */
static mw_walk_outcome_t step_to_interrupted(mw_walk_t *walk, mw_walk_frame_t *frame) {
	uintptr_t sp = frame->regs.sp, lr;
	mw_os_regs_t regs;
	if (!load(walk, sp + MW_OS_SIGNAL_FP, &regs.fp) || !load(walk, sp + MW_OS_SIGNAL_LR, &lr) ||
	    !load(walk, sp + MW_OS_SIGNAL_SP, &regs.sp) ||
	    !load(walk, sp + MW_OS_SIGNAL_PC, &regs.pc) || !mw_walk_is_aligned(regs.sp) ||
	    !switch_stack(walk, regs.sp))
		return MW_WALK_LOST;
	mw_walk_outcome_t outcome = enter(frame, regs, true);
	frame->lr = lr;
	return outcome;
}

static bool is_signal_return(const mw_walk_frame_t *frame) {
	uintptr_t pc = frame->regs.pc;
	return MW_OS_HAS_LINK_REGISTER && pc % sizeof(uint32_t) == 0 && mw_os_is_readable(pc) &&
	       mw_os_is_signal_return((const uint32_t *)pc);
}

/* Code without rules: the frame pointer, if it is one, leads to the caller's. */
static mw_walk_outcome_t step_by_frame_pointer(mw_walk_t *walk, mw_walk_frame_t *frame) {
	if (is_signal_return(frame))
		return step_to_interrupted(walk, frame);
	uintptr_t fp = frame->regs.fp;
	mw_os_regs_t caller = {.sp = fp + 2 * sizeof(uintptr_t)};
	/* The ABI's mark of the outermost frame. */
	if (fp == 0)
		return MW_WALK_END;
	if (!mw_walk_is_aligned(fp))
		return MW_WALK_LOST;
	if (fp < frame->regs.sp || !load(walk, fp, &caller.fp) ||
	    !load(walk, fp + sizeof(uintptr_t), &caller.pc))
		return step_to_other_stack(walk, frame);
	mw_walk_outcome_t outcome = enter(frame, caller, false);
	frame->is_sp_unknown = MW_OS_HAS_LINK_REGISTER;
	return outcome;
}

static bool base_address(const mw_walk_frame_t *frame, uint8_t base, uintptr_t cfa,
			 uintptr_t *address) {
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
static bool load_placed(mw_walk_t *walk, uintptr_t base, int32_t offset, uintptr_t *value) {
	uintptr_t address = base + (uintptr_t)(intptr_t)offset;
	if (!mw_walk_is_aligned(address))
		return false;
	return load(walk, address, value) ||
	       (switch_stack(walk, address) && load(walk, address, value));
}

/* Any rule: signal frames, realigned frames, code that changed stacks. */
static mw_walk_outcome_t step_by_rule(mw_walk_t *walk, mw_walk_frame_t *frame,
				      const mw_rule_t *rule) {
	uintptr_t cfa, ra_base, fp_base, fp = 0, pc;
	bool is_loaded = rule->cfa_base == MW_BASE_SP_LOAD || rule->cfa_base == MW_BASE_FP_LOAD;
	if (!base_address(frame, rule->cfa_base, 0, &cfa))
		return MW_WALK_LOST;
	if (is_loaded && !load_placed(walk, cfa, rule->cfa_offset, &cfa))
		return MW_WALK_LOST;
	cfa += (uintptr_t)(intptr_t)(is_loaded ? rule->cfa_add : rule->cfa_offset);
	/* The frame pointer of a function that saved its caller's leads to where it did. */
	if (frame->is_sp_unknown && rule->cfa_base != MW_BASE_FP) {
		if (rule->cfa_base != MW_BASE_SP || rule->fp_base != MW_BASE_CFA)
			return MW_WALK_LOST;
		cfa = frame->regs.fp - (uintptr_t)(intptr_t)rule->fp_offset;
	}
	/* A frame cannot end below where it began, unless something else than sp led to its end; a
	 * leaf that keeps everything in registers has none. */
	bool is_empty = rule->ra_base == MW_BASE_SAME && cfa == frame->regs.sp;
	if (!mw_walk_is_aligned(cfa) ||
	    (rule->cfa_base == MW_BASE_SP && cfa <= frame->regs.sp && !is_empty))
		return MW_WALK_LOST;
	/* A call overwrites the link register: only the interrupted function's is of use.  A
	 * function that has called, and yet neither a frame nor its return address elsewhere, was
	 * not called: makecontext(3) lays the address of one there. */
	if (is_empty && !frame->is_exact)
		return MW_WALK_END;
	if (rule->ra_base == MW_BASE_SAME)
		pc = frame->lr;
	else if (!base_address(frame, rule->ra_base, cfa, &ra_base) ||
		 !load_placed(walk, ra_base, rule->ra_offset, &pc))
		return MW_WALK_LOST;
	if (rule->ra_base == MW_BASE_SAME && pc == 0)
		return MW_WALK_LOST;
	/* A frame pointer that cannot be had ends the walk only if a later rule asks for it. */
	if (rule->fp_base == MW_BASE_SAME)
		fp = frame->regs.fp;
	else if (!base_address(frame, rule->fp_base, cfa, &fp_base) ||
		 !load_placed(walk, fp_base, rule->fp_offset, &fp))
		fp = 0;
	/* A handler's stack is left here for that of the interrupted function. */
	if (pc != 0 && !switch_stack(walk, cfa))
		return MW_WALK_LOST;
	return enter(frame, (mw_os_regs_t){.pc = pc, .sp = cfa, .fp = fp}, rule->is_signal);
}

mw_walk_outcome_t mw_walk_step_slowly(mw_walk_t *walk, mw_walk_frame_t *frame, uint64_t entry) {
	mw_rule_t rule = mw_resolve(&walk->resolver, mw_walk_lookup_pc(frame), entry);
	switch (rule.kind) {
	case MW_RULE_PLAIN:
	case MW_RULE_GENERAL:
		return step_by_rule(walk, frame, &rule);
	case MW_RULE_FRAME_POINTER:
		return step_by_frame_pointer(walk, frame);
	case MW_RULE_END:
		return MW_WALK_END;
	default:
		return MW_WALK_LOST;
	}
}
