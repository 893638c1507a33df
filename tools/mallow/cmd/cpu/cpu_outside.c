/* SPDX-License-Identifier: MIT
 * cpu_outside.c -- the session, the profile, the notes, the view. */
#include "cmd/cpu/cpu_outside.h"

#include <stddef.h>

#include "cli/complain.h"
#include "cli/print.h"
#include "cmd/input/load.h"
#include "cmd/outside/live_process.h"
#include "cmd/outside/outside_profile.h"
#include "cmd/outside/outside_session.h"
#include "cmd/profile/view.h"
#include "live/process/process.h"
#include "model/profile.h"

bool mw_cpu_is_without_mallow(const char *word) {
	mw_process_t process;
	mw_error_t ignored;
	return mw_live_process_find(word, &process, &ignored) == 0 && !process.is_kernel &&
	       !mw_process_has_ended(process.pid, process.start_ticks) &&
	       !mw_process_is_closed(process.pid) && !mw_process_has_library(process.pid);
}

/* The library's timers and events, and its own heap, are not there. */
static int check_options(const mw_arguments_t *arguments, const char *word, mw_error_t *error) {
	static const char *const others[] = {"wall", "event", "locks", "memory-cost", NULL};
	mw_process_t process;
	size_t i = 0;
	while (others[i] != NULL && !mw_argument(arguments, others[i])->given)
		i++;
	if (others[i] == NULL)
		return 0;
	if (arguments->options.outside.given)
		return mw_error_set(error, "cpu: --outside and --%s exclude each other", others[i]);
	if (mw_live_process_find(word, &process, error) != 0)
		return -1;
	return mw_error_set(error,
			    "pid %d: the process was not started with mallow, so the kernel "
			    "samples its CPU time, and --%s is not possible; 'mallow run' starts "
			    "it with mallow",
			    process.pid, others[i]);
}

static int show(const mw_arguments_t *arguments, const mw_outside_session_t *session,
		mw_profile_t *profile, mw_error_t *error) {
	const mw_outside_result_t *result = &session->result;
	bool is_alive = result->end != MW_OUTSIDE_ENDED && result->end != MW_OUTSIDE_EXEC;
	mw_load_symbols(profile, is_alive ? profile->origin.pid : 0, true);
	if (profile->sample_count == 0)
		mw_complain("pid %d: no CPU time was sampled in %.3g s", session->process.pid,
			    result->seconds);
	/* A file is written all the same: who asked for one reads it. */
	if (profile->sample_count == 0 && arguments->options.output.text == NULL)
		return 0;
	return mw_view_show(arguments, profile, profile->sample_count, error);
}

int mw_cpu_outside(const mw_arguments_t *arguments, const char *process, unsigned hz,
		   double seconds, mw_error_t *error) {
	mw_outside_session_t session;
	if (check_options(arguments, process, error) != 0 ||
	    mw_outside_session_cpu(process, hz, seconds, &session, error) != 0)
		return -1;
	mw_outside_session_notes(&session);
	mw_profile_t *profile = mw_outside_cpu_profile(&session);
	int status = show(arguments, &session, profile, error);
	mw_profile_free(profile);
	mw_outside_session_release(&session);
	return status;
}
