/* SPDX-License-Identifier: MIT
 * leaks_outside.c -- samples for twice the age, and shows what is older at the end. */
#include "cmd/leaks/leaks_outside.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "cli/complain.h"
#include "cli/pager.h"
#include "cli/print.h"
#include "cli/terminal.h"
#include "cmd/input/load.h"
#include "cmd/leaks/leaks_text.h"
#include "cmd/outside/outside_profile.h"
#include "cmd/outside/outside_session.h"
#include "cmd/profile/view.h"
#include "cmd/profile/view_options.h"
#include "cmd/profile/view_request.h"
#include "cmd/report/report_json.h"
#include "model/text.h"
#include "report/stacks.h"
#include "report/text/units.h"
#include "view/select/wrappers.h"

#define DEFAULT_STACKS 10

typedef struct job {
	const mw_arguments_t *arguments;
	const mw_outside_session_t *session;
	mw_profile_t *profile;
	size_t row_limit;
} job_t;

static int64_t age_of(const job_t *job, const mw_stack_t *stack) {
	const mw_label_t *oldest = mw_profile_label(job->profile, stack->sample, MW_LABEL_OLDEST);
	return oldest != NULL ? job->profile->time_ns - oldest->number : 0;
}

static void print_title(const job_t *job, int64_t bytes, int64_t objects) {
	char rate[32], age[32], time[32];
	const mw_outside_options_t *options = &job->session->options;
	mw_text_print(stdout, mw_profile_string(job->profile, job->profile->origin.program));
	printf(" (pid %d): ", options->pid);
	mw_leaks_print_amount(stdout, bytes, objects);
	printf(" allocated in %s and not freed for %s\n",
	       mw_format_nanoseconds(job->profile->duration_ns, time, sizeof(time)),
	       mw_format_nanoseconds((int64_t)(options->older_seconds * 1e9), age, sizeof(age)));
	if (options->mean_bytes > 1)
		printf("  one sample in %s: sizes and counts are estimates\n",
		       mw_format_bytes((int64_t)options->mean_bytes, rate, sizeof(rate)));
	putchar('\n');
}

static void print_text(const job_t *job, const mw_stacks_t *stacks) {
	int64_t objects = 0;
	size_t shown = 0;
	char age[32], low[32], high[32];
	for (size_t i = 0; i < stacks->count; i++)
		objects += mw_stack_value(job->profile, &stacks->stacks[i], "inuse_objects");
	print_title(job, stacks->total, objects);
	for (; shown < stacks->count && (job->row_limit == 0 || shown < job->row_limit); shown++) {
		const mw_stack_t *stack = &stacks->stacks[shown];
		int64_t bytes = stack->values[stacks->type];
		mw_interval_t range = mw_interval_of(bytes, &stack->spread);
		printf("#%zu  ", shown + 1);
		mw_leaks_print_amount(stdout, bytes,
				      mw_stack_value(job->profile, stack, "inuse_objects"));
		printf(" (%s to %s), oldest %s\n", mw_format_bytes(range.low, low, sizeof(low)),
		       mw_format_bytes(range.high, high, sizeof(high)),
		       mw_format_nanoseconds(age_of(job, stack), age, sizeof(age)));
		mw_stack_print_frames(stdout, job->profile, &job->profile->samples[stack->sample],
				      false, mw_terminal_columns(stdout));
		putchar('\n');
	}
	if (shown < stacks->count)
		printf("... and %zu more stacks\n", stacks->count - shown);
}

static int print_json(const job_t *job, const mw_stacks_t *stacks) {
	const mw_profile_t *p = job->profile;
	const mw_outside_result_t *result = &job->session->result;
	json_t *list = json_array();
	for (size_t i = 0; i < stacks->count && (job->row_limit == 0 || i < job->row_limit); i++) {
		const mw_stack_t *stack = &stacks->stacks[i];
		int64_t bytes = stack->values[stacks->type];
		mw_interval_t range = mw_interval_of(bytes, &stack->spread);
		json_array_append_new(
			list,
			json_pack("{s:I,s:I,s:I,s:I,s:[I,I],s:o}", "bytes", (json_int_t)bytes,
				  "blocks", (json_int_t)mw_stack_value(p, stack, "inuse_objects"),
				  "samples", (json_int_t)mw_stack_value(p, stack, "inuse_samples"),
				  "oldest_ns", (json_int_t)(p->time_ns - age_of(job, stack)),
				  "interval", (json_int_t)range.low, (json_int_t)range.high,
				  "frames", mw_frames_json(p, &p->samples[stack->sample])));
	}
	return mw_print_json(json_pack(
		"{s:s,s:o,s:I,s:I,s:I,s:f,s:f,s:I,s:I,s:I,s:I,s:o}", "view", "leaks_outside",
		"program", mw_json_text(mw_profile_string(p, p->origin.program)), "pid",
		(json_int_t)p->origin.pid, "time_ns", (json_int_t)p->time_ns, "mean_bytes",
		(json_int_t)p->period, "seconds", result->seconds, "older_seconds",
		job->session->options.older_seconds, "allocated_bytes", (json_int_t)result->bytes,
		"lost_samples", (json_int_t)result->lost, "total", (json_int_t)stacks->total,
		"stack_count", (json_int_t)stacks->count, "stacks", list));
}

static int show(const job_t *job, mw_error_t *error) {
	const mw_arguments_t *arguments = job->arguments;
	mw_selection_t selection;
	mw_stacks_t stacks;
	bool is_json = arguments->options.json.given;
	mw_profile_name_ranges(job->profile);
	mw_view_options_selection(arguments, &selection);
	if (mw_selection_apply(job->profile, &selection, error) != 0)
		return -1;
	if (!is_json && !arguments->options.wrappers.given)
		mw_wrappers_cut(job->profile, MW_WRAPPERS_ALL, NULL);
	if (!is_json && !arguments->options.native.given)
		mw_interpreters_fold(job->profile, NULL);
	if (mw_stacks_init(&stacks, job->profile, "inuse_space", error) != 0)
		return -1;
	int result = 0;
	if (is_json)
		result = print_json(job, &stacks);
	else
		print_text(job, &stacks);
	mw_stacks_release(&stacks);
	return result;
}

int mw_leaks_outside(const mw_arguments_t *arguments) {
	double older = arguments->options.outside_age.seconds;
	const mw_seconds_value_t *limit = &arguments->options.for_time;
	const mw_number_value_t *top = &arguments->options.top;
	mw_outside_session_t session;
	mw_view_request_t request;
	mw_error_t error;
	mw_load_take_options(arguments);
	mw_view_request_make(arguments, &request);
	int result = mw_view_request_check(&request, &error);
	if (result == 0)
		result = mw_outside_session(arguments, limit->given ? limit->seconds : 2 * older,
					    older, &session, &error);
	if (result != 0) {
		mw_complain("%s", error.text);
		return MW_EXIT_TROUBLE;
	}
	mw_outside_session_notes(&session);
	job_t job = {
		.arguments = arguments,
		.session = &session,
		.profile = mw_outside_profile(&session, true),
		.row_limit = top->given ? (size_t)top->number : DEFAULT_STACKS,
	};
	bool is_found = job.profile->sample_count > 0;
	bool is_alive = session.result.end != MW_OUTSIDE_ENDED;
	mw_load_symbols(job.profile, is_alive ? job.profile->origin.pid : 0, true);
	bool has_view = request.path != NULL || request.picture != NULL;
	if (!has_view)
		mw_pager_begin(arguments);
	result = has_view ? mw_view_show(arguments, job.profile, job.profile->sample_count, &error)
			  : show(&job, &error);
	if (result != 0)
		mw_complain("%s", error.text);
	mw_profile_free(job.profile);
	mw_outside_session_release(&session);
	return result != 0 ? MW_EXIT_TROUBLE : is_found ? MW_EXIT_FINDING : MW_EXIT_FINE;
}
