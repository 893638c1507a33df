/* SPDX-License-Identifier: MIT
 * watch.c -- calls what the program has set. */
#include "prof/watch.h"

#include "base/compiler.h"
#include "prof/prof.h"
#include "state/layout.h"

_Atomic uintptr_t mw_watchers[MW_WATCHERS];

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

mw_unwind_result_t mw_watch_capture(uint64_t *frames, unsigned max_depth) {
	mw_backtrace_t *backtrace = (mw_backtrace_t *)mw_watcher(MW_WATCH_BACKTRACE);
	/* What it allocates itself is not recorded, and so needs no stack of its making. */
	if (MW_LIKELY(!backtrace || mw_prof_ignoring))
		return mw_unwind_capture_caller(frames, max_depth, false);
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

void mw_watch_sampled(const mw_sample_request_t *request, const uint64_t *frames, unsigned depth) {
	mw_on_counted_t *counted = (mw_on_counted_t *)mw_watcher(MW_WATCH_COUNTED);
	if (MW_UNLIKELY(counted))
		counted(request->requested_bytes, request->usable_bytes, false);
	mw_on_sampled_t *sampled = (mw_on_sampled_t *)mw_watcher(MW_WATCH_SAMPLED);
	if (MW_UNLIKELY(sampled))
		tell_sampled(sampled, request, frames, depth);
}

void mw_watch_freed(uint64_t address, size_t requested_bytes, size_t usable_bytes) {
	mw_on_counted_t *counted = (mw_on_counted_t *)mw_watcher(MW_WATCH_COUNTED);
	if (MW_UNLIKELY(counted))
		counted(requested_bytes, usable_bytes, true);
	mw_on_freed_t *freed = (mw_on_freed_t *)mw_watcher(MW_WATCH_FREED);
	if (MW_LIKELY(!freed))
		return;
	mw_prof_ignoring++;
	freed((const void *)(uintptr_t)address, usable_bytes);
	mw_prof_ignoring--;
}

void mw_watch_dumped(const char *path) {
	mw_on_dumped_t *dumped = (mw_on_dumped_t *)mw_watcher(MW_WATCH_DUMPED);
	if (!dumped)
		return;
	mw_prof_ignoring++;
	dumped(path);
	mw_prof_ignoring--;
}
