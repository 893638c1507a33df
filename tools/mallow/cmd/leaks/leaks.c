/* SPDX-License-Identifier: MIT
 * leaks.c -- `mallow leaks`: has a live process check itself, once or twice, and shows the result.
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "check/suppress.h"
#include "cli/complain.h"
#include "cli/pager.h"
#include "cli/terminal.h"
#include "cmd/input/leak_check_request.h"
#include "cmd/input/load.h"
#include "cmd/leaks/leaks_attached.h"
#include "cmd/leaks/leaks_command.h"
#include "cmd/leaks/leaks_growth.h"
#include "cmd/leaks/leaks_holders.h"
#include "cmd/leaks/leaks_outside.h"
#include "cmd/leaks/leaks_text.h"
#include "cmd/outside/outside_options.h"
#include "cmd/profile/view.h"
#include "cmd/profile/view_options.h"
#include "cmd/profile/view_request.h"
#include "live/control.h"
#include "model/monotonic.h"
#include "view/select/wrappers.h"

#define DEFAULT_STACKS 10

typedef struct leaks_job {
	const mw_arguments_t *arguments;
	mw_check_options_t check;
	double watch_seconds;  /* 0 = one check */
	double growth_seconds; /* 0 = leaks; else who holds blocks that are not older */
	bool is_last;          /* shows the last check, and requests none */
	bool is_json;
	bool has_view; /* another output than this command's text and JSON */
	mw_suppressions_t *suppressions;
} leaks_job_t;

/* Waits between two checks. */
static void watch(const mw_target_t *target, const mw_program_hold_t *program, double seconds) {
	const struct timespec step = {.tv_nsec = 100000000};
	double begin = mw_monotonic_seconds(), past = 0;
	while (past < seconds && mw_program_goes_on(program)) {
		mw_progress("pid %d: checks again in %.0f s", target->pid, seconds - past);
		nanosleep(&step, NULL);
		past = mw_monotonic_seconds() - begin;
	}
	mw_progress_end();
}

/* Selects stacks for this command's own output.  Returns false if another view was asked for, and
 * shown, or if the selection failed; then *result is set. */
static bool prints_itself(const leaks_job_t *job, mw_profile_t *profile, int *result,
			  mw_error_t *error) {
	mw_selection_t selection;
	if (job->has_view) {
		*result = mw_view_show(job->arguments, profile, profile->sample_count, error);
		return false;
	}
	mw_profile_name_ranges(profile);
	mw_view_options_selection(job->arguments, &selection);
	*result = mw_selection_apply(profile, &selection, error);
	return *result == 0;
}

/* JSON has whole stacks. */
static bool cuts_wrappers(const leaks_job_t *job) {
	return !job->is_json && !job->arguments->options.wrappers.given;
}

static void cut_frames(const leaks_job_t *job, mw_profile_t *profile) {
	if (cuts_wrappers(job))
		mw_wrappers_cut(profile, MW_WRAPPERS_ALL, NULL);
	if (!job->is_json && !job->arguments->options.native.given)
		mw_interpreters_fold(profile, NULL);
}

static size_t row_limit(const leaks_job_t *job) {
	const mw_number_value_t *top = &job->arguments->options.top;
	return top->given ? (size_t)top->number : DEFAULT_STACKS;
}

static int show(const leaks_job_t *job, const mw_target_t *target, mw_snapshot_t *last,
		const mw_snapshot_t *earlier, mw_error_t *error) {
	mw_profile_t *profile = mw_profile_of_leaks(last, earlier);
	mw_load_names(target, NULL, MW_LOAD_SYMBOLS_NOTES, profile);
	mw_suppress(job->suppressions, profile, true);
	const mw_leak_report_t report = {
		.check = &last->leak_check,
		.earlier = earlier != NULL ? &earlier->leak_check : NULL,
		.profile = profile,
		.row_limit = row_limit(job),
		.columns = mw_terminal_columns(stdout),
		.sampled = last->leak_count,
		.estimate = mw_leaks_estimate(last),
		.suppressions = job->suppressions,
	};
	bool is_found = mw_leaks_are_found(&report);
	int result;
	if (prints_itself(job, profile, &result, error)) {
		cut_frames(job, profile);
		result = job->is_json ? mw_leaks_print_json(&report, error)
				      : mw_leaks_print_text(stdout, &report, error);
	}
	mw_profile_free(profile);
	return result == 0 && is_found ? MW_EXIT_FINDING : result;
}

static mw_growth_report_t growth_report(const leaks_job_t *job, const mw_profile_t *profile) {
	return (mw_growth_report_t){
		.profile = profile,
		.seconds = job->growth_seconds,
		.row_limit = row_limit(job),
		.columns = mw_terminal_columns(stdout),
	};
}

static int show_growth(const leaks_job_t *job, const mw_target_t *target, const mw_snapshot_t *last,
		       mw_error_t *error) {
	const mw_state_leak_check_t *its = &last->leak_check;
	uint64_t stored =
		its->leaks_used < its->leaks_found ? 0 : its->leaks_used - its->leaks_found;
	mw_profile_t *profile = mw_profile_of_held(last);
	mw_load_names(target, NULL, MW_LOAD_SYMBOLS_NOTES, profile);
	mw_holders_keep_one(profile, !job->arguments->options.wrappers.given);
	mw_growth_report_t report = growth_report(job, profile);
	report.missing = its->held_found > stored ? its->held_found - stored : 0;
	int result;
	if (prints_itself(job, profile, &result, error)) {
		if (cuts_wrappers(job))
			mw_holders_cut_wrappers(profile);
		result = job->is_json ? mw_growth_print_json(&report, error)
				      : mw_growth_print_text(&report, error);
	}
	mw_profile_free(profile);
	return result;
}

static bool is_attached(const mw_target_t *target) {
	mw_snapshot_t *snapshot;
	if (!target->alive || mw_target_read(target, 0, &snapshot, NULL) != 0)
		return false;
	bool result = (snapshot->live.flags & MW_STATE_ATTACHED) != 0;
	mw_snapshot_free(snapshot);
	return result;
}

static int show_attached_growth(const leaks_job_t *job, const mw_target_t *target,
				mw_error_t *error) {
	struct timespec now;
	mw_snapshot_t *snapshot;
	if (mw_target_read(target, MW_SNAPSHOT_STACKS | MW_SNAPSHOT_RECORDS | MW_SNAPSHOT_OF_NOW,
			   &snapshot, error) != 0)
		return -1;
	if (snapshot->live.flags & MW_STATE_DETACHED) {
		mw_snapshot_free(snapshot);
		return mw_error_set(error,
				    "pid %d: mallow is detached from it, so what it has freed "
				    "since is not known; 'mallow attach %d' begins anew",
				    target->pid, target->pid);
	}
	clock_gettime(CLOCK_REALTIME, &now);
	int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	mw_snapshot_made_between(snapshot, now_ns - (int64_t)(job->growth_seconds * 1e9),
				 INT64_MAX);
	mw_profile_t *profile = mw_profile_from_snapshot(snapshot);
	mw_snapshot_free(snapshot);
	mw_load_names(target, NULL, MW_LOAD_SYMBOLS_NOTES, profile);
	const mw_growth_report_t report = growth_report(job, profile);
	int result;
	if (prints_itself(job, profile, &result, error)) {
		cut_frames(job, profile);
		result = job->is_json ? mw_attached_growth_print_json(&report, error)
				      : mw_attached_growth_print_text(&report, error);
	}
	mw_profile_free(profile);
	return result;
}

/* Checks twice. If the process does not last so long, the first check is all that is known. */
static int check_twice(const mw_target_t *target, const leaks_job_t *job,
		       const mw_program_hold_t *program, mw_snapshot_t **last,
		       mw_snapshot_t **earlier, mw_error_t *error) {
	double begin = mw_monotonic_seconds();
	if (mw_check_program(target, program, &job->check, earlier, error) != 0)
		return -1;
	watch(target, program, job->watch_seconds);
	if (mw_program_goes_on(program) &&
	    mw_check_program(target, program, &job->check, last, error) == 0)
		return 0;
	if (mw_program_goes_on(program))
		return -1;
	mw_complain("note: pid %d: the process %s after %.3g s: this is what the first check found",
		    target->pid, mw_program_end(program), mw_monotonic_seconds() - begin);
	*last = *earlier;
	*earlier = NULL;
	return 0;
}

static int check(const mw_target_t *target, const leaks_job_t *job, mw_snapshot_t **last,
		 mw_snapshot_t **earlier, mw_error_t *error) {
	mw_program_hold_t program;
	if (job->is_last || !target->alive)
		return mw_check_read(target, last, error);
	if (job->watch_seconds <= 0)
		return mw_check_process(target, &job->check, last, error);
	int result = mw_program_hold(target, &program, error);
	if (result == 0)
		result = check_twice(target, job, &program, last, earlier, error);
	mw_program_hold_release(&program);
	return result;
}

static int work(const mw_target_t *target, const void *context, mw_error_t *error) {
	const leaks_job_t *job = context;
	mw_snapshot_t *last = NULL, *earlier = NULL;
	if (job->growth_seconds > 0 && is_attached(target))
		return show_attached_growth(job, target, error);
	int result = check(target, job, &last, &earlier, error);
	if (result == 0 && job->growth_seconds > 0)
		result = show_growth(job, target, last, error);
	else if (result == 0)
		result = show(job, target, last, earlier, error);
	mw_snapshot_free(last);
	mw_snapshot_free(earlier);
	return result;
}

/* Whole seconds, rounded up, as they stand in control.want_leak_options. */
static uint32_t seconds_word(double seconds) {
	const double most = UINT32_MAX >> MW_LEAK_SECONDS_SHIFT;
	return (uint32_t)ceil(seconds < most ? seconds : most) << MW_LEAK_SECONDS_SHIFT;
}

int mw_cmd_leaks(const mw_arguments_t *arguments) {
	const mw_seconds_value_t *wait = &arguments->options.wait;
	const mw_seconds_value_t *limit = &arguments->options.limit;
	mw_view_request_t request;
	mw_error_t error;
	bool is_outside = arguments->options.outside_age.given;
	static const char *const with[] = {"for", "force", "rate", NULL};
	static const char *const without[] = {"watch",    "growth", "peek",  "shared",
					      "suppress", "last",   "limit", NULL};
	if (!mw_outside_options_fit(arguments, is_outside, with, without))
		return MW_EXIT_TROUBLE;
	if (is_outside)
		return mw_leaks_outside(arguments);
	mw_load_take_options(arguments);
	mw_view_request_make(arguments, &request);
	if (mw_view_request_check(&request, &error) != 0) {
		mw_complain("%s", error.text);
		return MW_EXIT_TROUBLE;
	}
	uint32_t options = (arguments->options.peek.given ? MW_LEAK_PEEK : 0u) |
			   (arguments->options.shared.given ? MW_LEAK_SHARED : 0u);
	double growth_seconds = arguments->options.growth.seconds;
	if (growth_seconds > 0)
		options |= MW_LEAK_HOLDERS | seconds_word(growth_seconds);
	mw_suppressions_t suppressions = {0};
	const mw_list_value_t *files = &arguments->options.suppress;
	for (size_t i = 0; i < files->text_count; i++)
		if (mw_suppressions_read(&suppressions, files->texts[i], &error) != 0) {
			mw_complain("%s", error.text);
			mw_suppressions_release(&suppressions);
			return MW_EXIT_TROUBLE;
		}
	const leaks_job_t job = {
		.arguments = arguments,
		.check = {.wait_seconds = wait->given ? wait->seconds : MW_REQUEST_WAIT_SECONDS,
			  .limit_seconds = limit->given ? limit->seconds : MW_CHECK_LIMIT_SECONDS,
			  .options = options},
		.watch_seconds = arguments->options.watch.seconds,
		.growth_seconds = growth_seconds,
		.is_last = arguments->options.last.given,
		.is_json = arguments->options.json.given,
		.has_view = request.path != NULL || request.picture != NULL,
		.suppressions = &suppressions,
	};
	if (job.is_last && (job.watch_seconds > 0 || options != 0)) {
		mw_complain(
			"leaks: --last shows a check that was made; --watch, --peek, --shared and "
			"--growth need a new one");
		return MW_EXIT_TROUBLE;
	}
	if (!job.has_view)
		mw_pager_begin(arguments);
	int status = mw_on_target(arguments->operands[0], work, &job);
	mw_suppressions_release(&suppressions);
	return status;
}
