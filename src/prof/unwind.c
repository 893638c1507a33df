/* SPDX-License-Identifier: MIT
 * unwind.c -- walks the stack: one rule a frame, every read inside a window of the stack. */
#include "prof/unwind.h"

#include "base/compiler.h"
#include "prof/unwind_trail.h"
#include "prof/unwind_walk.h"
#include "state/layout.h"

/* Changes of stack in one walk (signal handlers on their own stack, coroutines): each may cost the
 * kernel's answer for some pages. */
#define SWITCHES_MAX 16

/* A frame. */
typedef struct frame {
	mw_os_regs_t regs; /* fp == 0: not known */
	bool is_exact;     /* regs.pc is an instruction, not a return address */
	/* On machines with a link register only: */
	bool is_sp_unknown; /* reached by a frame pointer: regs.sp is the least it can be */
	uintptr_t lr;       /* of an exact frame; 0: not known */
} frame_t;

static bool load(mw_walk_t *walk, uintptr_t address, uintptr_t *value) {
	return mw_os_stack_load(&walk->stack, address, value);
}

static mw_walk_outcome_t enter(frame_t *frame, mw_os_regs_t regs, bool is_exact) {
	if (!is_exact)
		regs.pc = mw_os_code_address(regs.pc);
	*frame = (frame_t){.regs = regs, .is_exact = is_exact};
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
static mw_walk_outcome_t step_to_other_stack(mw_walk_t *walk, frame_t *frame) {
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
static mw_walk_outcome_t step_to_interrupted(mw_walk_t *walk, frame_t *frame) {
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

static bool is_signal_return(const frame_t *frame) {
	uintptr_t pc = frame->regs.pc;
	return MW_OS_HAS_LINK_REGISTER && pc % sizeof(uint32_t) == 0 && mw_os_is_readable(pc) &&
	       mw_os_is_signal_return((const uint32_t *)pc);
}

/* Code without rules: the frame pointer, if it is one, leads to the caller's. */
static mw_walk_outcome_t step_by_frame_pointer(mw_walk_t *walk, frame_t *frame) {
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
static bool load_placed(mw_walk_t *walk, uintptr_t base, int32_t offset, uintptr_t *value) {
	uintptr_t address = base + (uintptr_t)(intptr_t)offset;
	if (!mw_walk_is_aligned(address))
		return false;
	return load(walk, address, value) ||
	       (switch_stack(walk, address) && load(walk, address, value));
}

/* Any rule: signal frames, realigned frames, code that changed stacks. */
static mw_walk_outcome_t step_by_rule(mw_walk_t *walk, frame_t *frame, const mw_rule_t *rule) {
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

/* A return address may be the first byte of the next function, or of the next rule's range: the
 * call is the byte before. */
MW_ALWAYS_INLINE uintptr_t lookup_pc(const frame_t *frame) {
	return frame->regs.pc - !frame->is_exact;
}

static MW_NOINLINE mw_walk_outcome_t step_slowly(mw_walk_t *walk, frame_t *frame, uint64_t entry) {
	mw_rule_t rule = mw_resolve(&walk->resolver, lookup_pc(frame), entry);
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

/* Not for rules that start from sp. */
MW_ALWAYS_INLINE bool is_slow(const frame_t *frame) {
	return MW_OS_HAS_LINK_REGISTER && frame->is_sp_unknown;
}

/* Any frame.  By copy: its address never leaves this function, so it stays in registers. */
MW_ALWAYS_INLINE mw_walk_outcome_t step(mw_walk_t *walk, frame_t *frame) {
	uint64_t entry = mw_cache_find(lookup_pc(frame));
	if (MW_LIKELY(!is_slow(frame) && mw_walk_step_fast(walk, &frame->regs, entry))) {
		frame->is_exact = false;
		return MW_LIKELY(frame->regs.pc != 0) ? MW_WALK_ON : MW_WALK_END;
	}
	frame_t copy = *frame;
	mw_walk_outcome_t outcome = step_slowly(walk, &copy, entry);
	*frame = copy;
	return outcome;
}

/* Passes frames of return addresses and fast rules, and writes them down; returns how many.  Ends
 * before a frame that is neither, after `max` frames, or with pc == 0 behind the outermost. */
MW_ALWAYS_INLINE unsigned run_fast(const mw_walk_t *walk, frame_t *frame, uint64_t *pcs,
				   unsigned max) {
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

#ifdef MW_TESTING
uintptr_t mw_walk_test_own_start, mw_walk_test_own_limit;

void mw_unwind_set_own(uintptr_t start, uintptr_t limit) {
	mw_walk_test_own_start = start;
	mw_walk_test_own_limit = limit;
}
#endif

MW_RESIDENT void mw_unwind_start(void) {
	mw_os_stack_start();
	mw_os_object_start();
}

/* From a frame on the stack of the window, which stays there: the walk is its caller's. */
static MW_NOINLINE mw_unwind_result_t walk_from(mw_walk_t *walk, frame_t frame, uint64_t *pcs,
						unsigned max_depth) {
	mw_unwind_result_t result = {.depth = 0};
	mw_resolver_start(&walk->resolver);
	walk->switches = 0;
	/* Other stacks come and go: no word of them is where it was. */
	mw_trail_t *trail = MW_LIKELY(walk->stack.is_own) ? mw_trail_take() : NULL;
	mw_walk_outcome_t outcome = frame.is_exact ? step(walk, &frame) : MW_WALK_ON;
	if (trail) {
		if (outcome == MW_WALK_ON && !is_slow(&frame)) {
			mw_os_regs_t regs = frame.regs;
			outcome = mw_trail_follow(trail, walk, &regs, pcs, max_depth, &result);
			frame.regs = regs;
		}
		mw_trail_let_go();
	}
	for (unsigned i = 0; i < MW_WALK_OWN_FRAMES_MAX && outcome == MW_WALK_ON &&
			     result.depth == 0 && mw_walk_is_own(frame.regs.pc);
	     i++)
		outcome = step(walk, &frame);
	while (outcome == MW_WALK_ON && result.depth < max_depth) {
		if (MW_LIKELY(!frame.is_exact && !is_slow(&frame))) {
			result.depth += run_fast(walk, &frame, pcs + result.depth,
						 max_depth - result.depth);
			if (frame.regs.pc == 0)
				outcome = MW_WALK_END;
			if (outcome == MW_WALK_END || result.depth == max_depth)
				break;
		}
		pcs[result.depth++] = frame.regs.pc | (frame.is_exact ? MW_FRAME_EXACT : 0);
		outcome = step(walk, &frame);
	}
	result.truncated = outcome != MW_WALK_END;
	result.stamps = walk->resolver.stamps;
	result.is_stamped = !walk->resolver.is_incomplete;
	return result;
}

MW_NOINLINE mw_unwind_result_t mw_unwind_capture(uint64_t *pcs, unsigned max_depth) {
	frame_t frame = {.regs = mw_os_regs_here(), .is_exact = true};
	mw_walk_t walk;
	if (!mw_os_stack_open(&walk.stack, frame.regs.sp))
		return (mw_unwind_result_t){.truncated = true};
	return walk_from(&walk, frame, pcs, max_depth);
}

MW_TLS const uintptr_t *mw_unwind_entry;

/* From malloc to here the library's frames are not larger: what is further away is not of this
 * call. */
#define ENTRY_MAX_BYTES 32768u

/* The function's frame, if it is one of this stack. */
MW_ALWAYS_INLINE const uintptr_t *entry_above(uintptr_t sp) {
	const uintptr_t *entry = mw_unwind_entry;
	bool is_here = !MW_OS_HAS_LINK_REGISTER && (uintptr_t)entry - sp < ENTRY_MAX_BYTES;
	return MW_LIKELY(is_here) ? entry : NULL;
}

mw_unwind_result_t mw_unwind_capture_caller(uint64_t *pcs, unsigned max_depth) {
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	const uintptr_t *entry = entry_above(sp);
	mw_walk_t walk;
	if (!entry || !mw_os_stack_open(&walk.stack, sp) || !walk.stack.is_own ||
	    (uintptr_t)(entry + 2) > walk.stack.hi)
		return mw_unwind_capture(pcs, max_depth);
	return walk_from(&walk, (frame_t){.regs = mw_os_caller_regs(entry)}, pcs, max_depth);
}

uint64_t mw_unwind_recognise(void) {
	const uintptr_t *entry = entry_above((uintptr_t)__builtin_frame_address(0));
	mw_trail_t *trail = entry ? mw_trail_take() : NULL;
	if (MW_UNLIKELY(!trail))
		return 0;
	mw_os_regs_t regs = mw_os_caller_regs(entry);
	uint64_t memo = mw_trail_recognise(trail, &regs);
	mw_trail_let_go();
	return memo;
}

MW_TLS mw_trail_hold_t mw_trail_hold;

void mw_unwind_sampled(uint64_t now_ns) {
	mw_trail_hold_t *hold = &mw_trail_hold;
	if (MW_UNLIKELY(!hold->trail) && ++hold->samples >= MW_TRAIL_SAMPLES)
		mw_trail_judge(now_ns);
}

void mw_unwind_note(uint64_t serial, uint64_t memo) {
	mw_trail_t *trail = mw_trail_hold.trail;
	if (trail && trail->serial == serial)
		trail->memo = memo;
}

void mw_unwind_thread_end(void) {
	mw_trail_hold.has_ended = true;
	if (mw_trail_hold.trail)
		mw_trail_end();
}

uint64_t mw_unwind_memory_bytes(void) {
	return mw_cache_bytes() + mw_rule_count() * sizeof(mw_rule_t) + mw_trail_memory_bytes();
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
