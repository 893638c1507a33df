/* SPDX-License-Identifier: MIT
 * program_hooks.c -- calls the hooks that the program has set. */
#include "prof/sample/program_hooks.h"

#include "prof/sample/activity.h"
#include "state/layout.h"

_Atomic uintptr_t mw_program_hooks[MW_PROGRAM_HOOKS];
_Atomic bool mw_program_hooks_were_set;

/* Hooks that are called for samples, one bit each. */
#define ABOUT_SAMPLES                                                                              \
	(1u << MW_PROGRAM_HOOK_BACKTRACE | 1u << MW_PROGRAM_HOOK_SAMPLED |                         \
	 1u << MW_PROGRAM_HOOK_FREED | 1u << MW_PROGRAM_HOOK_COUNTED |                             \
	 1u << MW_PROGRAM_HOOK_WATCHED)

uintptr_t mw_program_hook_set(mw_program_hook_t which, uintptr_t function) {
	uintptr_t before =
		atomic_exchange_explicit(&mw_program_hooks[which], function, memory_order_acq_rel);
	if (function && ABOUT_SAMPLES & 1u << which)
		atomic_store_explicit(&mw_program_hooks_were_set, true, memory_order_relaxed);
	return before;
}

static MW_NOINLINE mw_unwind_result_t ask_program(mw_backtrace_t *backtrace, uint64_t *frames,
						  unsigned max_depth) {
	void *pcs[MW_PROF_DEPTH_MAX];
	unsigned depth = 0;
	mw_prof_ignoring++;
	backtrace(pcs, &depth, max_depth);
	mw_prof_ignoring--;
	if (depth > max_depth)
		depth = max_depth;
	for (unsigned i = 0; i < depth; i++)
		frames[i] = (uintptr_t)pcs[i];
	return (mw_unwind_result_t){.depth = depth, .truncated = depth == max_depth};
}

mw_unwind_result_t mw_program_hook_capture(uint64_t *frames, unsigned max_depth) {
	mw_backtrace_t *backtrace = (mw_backtrace_t *)mw_program_hook(MW_PROGRAM_HOOK_BACKTRACE);
	/* The hook's own allocations are not recorded, so the hook is not called for them. */
	if (MW_LIKELY(!backtrace || mw_prof_ignoring))
		return mw_unwind_capture_caller(frames, NULL, max_depth);
	return ask_program(backtrace, frames, max_depth);
}

static MW_NOINLINE void tell_sampled(mw_on_sampled_t *sampled, const mw_sample_request_t *request,
				     const uint64_t *frames, unsigned depth) {
	void *pcs[MW_PROF_DEPTH_MAX];
	for (unsigned i = 0; i < depth; i++)
		pcs[i] = (void *)(uintptr_t)(frames[i] & ~MW_FRAME_EXACT);
	mw_prof_ignoring++;
	sampled(request->block, request->requested_bytes, pcs, depth, request->usable_bytes);
	mw_prof_ignoring--;
}

/* Calls the hook for samples and frees that libraries of lib/mallow/compat/ set. */
static void tell_watched(const void *block, size_t requested_bytes, bool freed) {
	mw_on_watched_t *watched = (mw_on_watched_t *)mw_program_hook(MW_PROGRAM_HOOK_WATCHED);
	if (MW_LIKELY(!watched))
		return;
	mw_prof_ignoring++;
	watched(block, requested_bytes, freed);
	mw_prof_ignoring--;
}

void mw_program_hook_sampled(const mw_sample_request_t *request, const uint64_t *frames,
			     unsigned depth) {
	mw_on_counted_t *counted = (mw_on_counted_t *)mw_program_hook(MW_PROGRAM_HOOK_COUNTED);
	if (MW_UNLIKELY(counted))
		counted(request->requested_bytes, request->usable_bytes, false);
	mw_on_sampled_t *sampled = (mw_on_sampled_t *)mw_program_hook(MW_PROGRAM_HOOK_SAMPLED);
	if (MW_UNLIKELY(sampled))
		tell_sampled(sampled, request, frames, depth);
	tell_watched(request->block, request->requested_bytes, false);
}

void mw_program_hook_freed(uint64_t address, size_t requested_bytes, size_t usable_bytes) {
	mw_on_counted_t *counted = (mw_on_counted_t *)mw_program_hook(MW_PROGRAM_HOOK_COUNTED);
	if (MW_UNLIKELY(counted))
		counted(requested_bytes, usable_bytes, true);
	tell_watched((const void *)(uintptr_t)address, requested_bytes, true);
	mw_on_freed_t *freed = (mw_on_freed_t *)mw_program_hook(MW_PROGRAM_HOOK_FREED);
	if (MW_LIKELY(!freed))
		return;
	mw_prof_ignoring++;
	freed((const void *)(uintptr_t)address, usable_bytes);
	mw_prof_ignoring--;
}

void mw_program_hook_dumped(const char *path) {
	mw_on_dumped_t *dumped = (mw_on_dumped_t *)mw_program_hook(MW_PROGRAM_HOOK_DUMPED);
	if (!dumped)
		return;
	mw_prof_ignoring++;
	dumped(path);
	mw_prof_ignoring--;
}
