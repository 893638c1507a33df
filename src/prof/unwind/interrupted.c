/* SPDX-License-Identifier: MIT
 * interrupted.c -- walks the stack of code that a signal interrupted, from the registers that the
 * kernel saved. A file of its own, because samples of the heap do not run it. */
#include "prof/unwind/unwind.h"
#include "prof/unwind/walk.h"

mw_unwind_result_t mw_unwind_capture_interrupted(const void *context, uint64_t *pcs,
						 uint32_t *places, unsigned max_depth) {
	mw_unwind_result_t result = {.truncated = true};
	mw_walk_frame_t frame = {.is_exact = true};
	frame.regs = mw_os_interrupted_regs(context, &frame.lr);
	mw_walk_t walk;
	walk.places = places;
	if (max_depth == 0 || frame.regs.pc == 0)
		return result;
	/* Code may keep anything in the stack pointer for some instructions: the leaf alone is
	 * known then. */
	if (!mw_walk_is_aligned(frame.regs.sp) || !mw_os_stack_open(&walk.stack, frame.regs.sp)) {
		pcs[0] = frame.regs.pc | MW_FRAME_EXACT;
		if (places)
			places[0] = MW_UNWIND_PLACE(frame.regs.sp);
		result.depth = 1;
		return result;
	}
	mw_resolver_start(&walk.resolver);
	walk.switches = 0;
	walk.code_page = 0;
	/* Without the walk cache: its frames are those of allocations, and the code that was
	 * interrupted may be using it. */
	mw_walk_outcome_t outcome =
		mw_walk_go_on(&walk, &frame, MW_WALK_ON, pcs, max_depth, &result.depth);
	result.truncated = outcome != MW_WALK_END;
	return result;
}
