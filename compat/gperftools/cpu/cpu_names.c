/* SPDX-License-Identifier: MIT
 * cpu_names.c -- the functions of <gperftools/profiler.h>. */
#include <gperftools/profiler.h>

#include <stdint.h>
#include <string.h>

#include "compat/gperftools/cpu/cpu_profiler.h"
#include "prof/unwind/unwind.h"
#include "state/layout.h"

int ProfilerStart(const char *fname) {
	return ProfilerStartWithOptions(fname, NULL);
}

int ProfilerStartWithOptions(const char *fname, const struct ProfilerOptions *options) {
	return mw_gpc_start(fname, options ? options->filter_in_thread : NULL,
			    options ? options->filter_in_thread_arg : NULL) == MW_GPC_STARTED;
}

void ProfilerStop(void) {
	mw_gpc_stop();
}

void ProfilerFlush(void) {
	mw_gpc_flush();
}

void ProfilerEnable(void) {
}

void ProfilerDisable(void) {
}

int ProfilingIsEnabledForAllThreads(void) {
	mw_gpc_state_t state;
	mw_gpc_state(&state);
	return state.enabled;
}

void ProfilerRegisterThread(void) {
	mw_gpc_register_thread();
}

void ProfilerGetCurrentState(struct ProfilerState *state) {
	mw_gpc_state_t now;
	_Static_assert(sizeof now.path == sizeof state->profile_name, "copied below");
	mw_gpc_state(&now);
	state->enabled = now.enabled;
	state->start_time = now.start_time;
	state->samples_gathered = (int)now.samples;
	memcpy(state->profile_name, now.path, sizeof now.path);
}

int ProfilerGetStackTrace(void **result, int max_depth, int skip_count, const void *uc) {
	uint64_t pcs[MW_GPC_DEPTH_MAX];
	unsigned depth, first = 0;
	if (uc) {
		depth = mw_unwind_capture_interrupted(uc, pcs, NULL, MW_GPC_DEPTH_MAX).depth;
	} else {
		uintptr_t caller = (uintptr_t)__builtin_return_address(0);
		depth = mw_unwind_capture(pcs, MW_GPC_DEPTH_MAX).depth;
		while (first < depth && pcs[first] != caller)
			first++;
	}
	int count = 0;
	for (unsigned i = first + (unsigned)(skip_count > 0 ? skip_count : 0);
	     i < depth && count < max_depth; i++)
		result[count++] = (void *)(uintptr_t)(pcs[i] & ~MW_FRAME_EXACT);
	return count;
}
