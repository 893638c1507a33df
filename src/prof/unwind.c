/* SPDX-License-Identifier: MIT
 * unwind.c -- walks the stack: one rule a frame, every read inside a window of the stack. */
#include "prof/unwind.h"

#include "base/compiler.h"
#include "prof/unwind_trail.h"
#include "prof/unwind_walk.h"
#include "state/layout.h"

/* Not for rules that start from sp. */
MW_ALWAYS_INLINE bool is_slow(const mw_walk_frame_t *frame) {
	return MW_OS_HAS_LINK_REGISTER && frame->is_sp_unknown;
}

/* Any frame.  By copy: its address never leaves this function, so it stays in registers. */
MW_ALWAYS_INLINE mw_walk_outcome_t step(mw_walk_t *walk, mw_walk_frame_t *frame) {
	uint64_t entry = mw_cache_find(mw_walk_lookup_pc(frame));
	if (MW_LIKELY(!is_slow(frame) && mw_walk_step_fast(walk, &frame->regs, entry))) {
		frame->is_exact = false;
		return MW_LIKELY(frame->regs.pc != 0) ? MW_WALK_ON : MW_WALK_END;
	}
	mw_walk_frame_t copy = *frame;
	mw_walk_outcome_t outcome = mw_walk_step_slowly(walk, &copy, entry);
	*frame = copy;
	return outcome;
}

/* Passes frames of return addresses and fast rules, and writes them down; returns how many.  Ends
 * before a frame that is neither, after `max` frames, or with pc == 0 behind the outermost. */
MW_ALWAYS_INLINE unsigned run_fast(const mw_walk_t *walk, mw_walk_frame_t *frame, uint64_t *pcs,
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
static MW_NOINLINE mw_unwind_result_t walk_from(mw_walk_t *walk, mw_walk_frame_t frame,
						uint64_t *pcs, unsigned max_depth,
						bool may_leave_out) {
	/* Not 0: all are to be written. */
	mw_unwind_result_t result = {.written = !may_leave_out};
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
	if (result.sum == 0 && result.serial == 0)
		result.written = result.depth;
	result.stamps = walk->resolver.stamps;
	result.is_stamped = !walk->resolver.is_incomplete;
	return result;
}

MW_NOINLINE mw_unwind_result_t mw_unwind_capture(uint64_t *pcs, unsigned max_depth) {
	mw_walk_frame_t frame = {.regs = mw_os_regs_here(), .is_exact = true};
	mw_walk_t walk;
	if (!mw_os_stack_open(&walk.stack, frame.regs.sp))
		return (mw_unwind_result_t){.truncated = true};
	return walk_from(&walk, frame, pcs, max_depth, false);
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

mw_unwind_result_t mw_unwind_capture_caller(uint64_t *pcs, unsigned max_depth, bool may_leave_out) {
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	const uintptr_t *entry = entry_above(sp);
	mw_walk_t walk;
	if (!entry || !mw_os_stack_open(&walk.stack, sp) || !walk.stack.is_own ||
	    (uintptr_t)(entry + 2) > walk.stack.hi)
		return mw_unwind_capture(pcs, max_depth);
	return walk_from(&walk, (mw_walk_frame_t){.regs = mw_os_caller_regs(entry)}, pcs, max_depth,
			 may_leave_out);
}

bool mw_unwind_write_rest(const mw_unwind_result_t *walk, uint64_t *pcs) {
	if (walk->written == walk->depth)
		return true;
	mw_trail_t *trail = mw_trail_take();
	if (!trail)
		return false;
	bool is_last = trail->count > 0 && trail->serial == walk->serial;
	if (is_last)
		mw_trail_write_rest(trail, walk, pcs);
	mw_trail_let_go();
	return is_last;
}

uint64_t mw_unwind_recognise(void) {
	const uintptr_t *entry = entry_above((uintptr_t)__builtin_frame_address(0));
	mw_trail_t *trail = entry ? mw_trail_take() : NULL;
	if (MW_UNLIKELY(!trail))
		return 0;
	mw_os_regs_t regs = mw_os_caller_regs(entry);
	uint64_t memo = mw_trail_recognise(trail, &regs);
	if (memo == 0)
		memo = mw_branch_find(trail, &regs);
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
		mw_trail_note(trail, memo);
}

void mw_unwind_note_again(uint64_t memo, uint64_t new_memo) {
	mw_trail_t *trail = mw_trail_take();
	if (!trail)
		return;
	if (trail->memo == memo)
		trail->memo = new_memo;
	mw_branch_note_again(&trail->branches, memo, new_memo);
	mw_trail_let_go();
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
