/* SPDX-License-Identifier: MIT
 * step.c -- steps to the caller's frame in all but the common cases: any rule, frame pointers,
 * other stacks. */
#include "base/compiler.h"
#include "prof/unwind/walk.h"

/* Most changes of stack in one walk (signal handlers on their own stack, coroutines). For each
 * change the kernel may have to be asked about some pages. */
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

/* Switches to the stack that contains `address`, unless the walk is on it already. */
static bool switch_stack(mw_walk_t *walk, uintptr_t address) {
	/* hi is allowed: an outermost frame may end where its stack ends, and no byte beyond is
	 * read. */
	if (address >= walk->stack.lo && address <= walk->stack.hi)
		return true;
	return walk->switches++ < SWITCHES_MAX && mw_os_stack_open(&walk->stack, address);
}

/* Handles code that changes the stack but keeps the frame pointer, as Go's does around calls of C.
 * The step is accepted if exactly one of the two stacks is the thread's own and the return address
 * is code. */
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

/* Steps to the function that a signal interrupted, with the registers that the kernel put on the
 * stack. */
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

/* Steps out of code without rules: assumes that the frame pointer leads to the caller's, unless the
 * code itself tells where its return address is. */
static mw_walk_outcome_t step_by_frame_pointer(mw_walk_t *walk, mw_walk_frame_t *frame) {
	mw_os_regs_t caller;
	if (is_signal_return(frame))
		return step_to_interrupted(walk, frame);
	if (mw_walk_find_return(walk, frame, &caller))
		return enter(frame, caller, false);
	uintptr_t fp = frame->regs.fp;
	caller.sp = fp + 2 * sizeof(uintptr_t);
	/* The ABI marks the outermost frame by fp == 0. */
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

/* Loads the word at a rule's offset, which may be on another stack. */
static bool load_placed(mw_walk_t *walk, uintptr_t base, int32_t offset, uintptr_t *value) {
	uintptr_t address = base + (uintptr_t)(intptr_t)offset;
	if (!mw_walk_is_aligned(address))
		return false;
	return load(walk, address, value) ||
	       (switch_stack(walk, address) && load(walk, address, value));
}

/* Applies any rule: signal frames, realigned frames, code that changed stacks. */
static mw_walk_outcome_t step_by_rule(mw_walk_t *walk, mw_walk_frame_t *frame,
				      const mw_rule_t *rule) {
	uintptr_t cfa, ra_base, fp_base, fp = 0, pc;
	bool is_loaded = rule->cfa_base == MW_BASE_SP_LOAD || rule->cfa_base == MW_BASE_FP_LOAD;
	if (!base_address(frame, rule->cfa_base, 0, &cfa))
		return MW_WALK_LOST;
	if (is_loaded && !load_placed(walk, cfa, rule->cfa_offset, &cfa))
		return MW_WALK_LOST;
	cfa += (uintptr_t)(intptr_t)(is_loaded ? rule->cfa_add : rule->cfa_offset);
	/* If a function saved its caller's frame pointer, its own leads to the saved one. */
	if (frame->is_sp_unknown && rule->cfa_base != MW_BASE_FP) {
		if (rule->cfa_base != MW_BASE_SP || rule->fp_base != MW_BASE_CFA)
			return MW_WALK_LOST;
		cfa = frame->regs.fp - (uintptr_t)(intptr_t)rule->fp_offset;
	}
	/* A frame cannot end below its beginning, unless its end was not computed from sp. A leaf
	 * that keeps all in registers has an empty frame. */
	bool is_empty = rule->ra_base == MW_BASE_SAME && cfa == frame->regs.sp;
	if (!mw_walk_is_aligned(cfa) ||
	    (rule->cfa_base == MW_BASE_SP && cfa <= frame->regs.sp && !is_empty))
		return MW_WALK_LOST;
	/* Only the interrupted function's link register is valid, because a call overwrites it. A
	 * function that has made a call, but has neither a frame nor a saved return address, was
	 * not called: makecontext(3) put its address there. */
	if (is_empty && !frame->is_exact)
		return MW_WALK_END;
	if (rule->ra_base == MW_BASE_SAME)
		pc = frame->lr;
	else if (!base_address(frame, rule->ra_base, cfa, &ra_base) ||
		 !load_placed(walk, ra_base, rule->ra_offset, &pc))
		return MW_WALK_LOST;
	if (rule->ra_base == MW_BASE_SAME && pc == 0)
		return MW_WALK_LOST;
	/* A missing frame pointer ends the walk only if a later rule needs it. */
	if (rule->fp_base == MW_BASE_SAME)
		fp = frame->regs.fp;
	else if (!base_address(frame, rule->fp_base, cfa, &fp_base) ||
		 !load_placed(walk, fp_base, rule->fp_offset, &fp))
		fp = 0;
	/* Here the walk leaves a handler's stack for that of the interrupted function. */
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
