/* SPDX-License-Identifier: MIT
 * check_limits.c -- `mallow check`: compares a profile with limits, for builds and tests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/complain.h"
#include "cli/pager.h"
#include "cli/terminal.h"
#include "cmd/input/inputs.h"
#include "cmd/input/leak_check_request.h"
#include "cmd/profile/output_file.h"
#include "cmd/profile/view_options.h"
#include "cmd/report/check_print.h"
#include "cmd/report/report_commands.h"
#include "live/control.h"
#include "model/memory.h"
#include "model/merge.h"
#include "view/select/selection.h"

/* Stacks that are shown for a finding: one screen. */
#define DEFAULT_STACKS 10

typedef struct job {
	const mw_arguments_t *arguments;
	/* as in mw_limit_profiles_t */
	mw_profile_t *whole, *live, *whole_base, *live_base, *whole_growth, *live_growth;
	char *name;
	mw_suppressions_t suppressions;
	mw_check_t check;
	int64_t leaked_bytes; /* of all leaked blocks of a process, sampled or not */
	bool has_samples;
} job_t;

static int select_from(const job_t *job, mw_profile_t *p, mw_error_t *error) {
	mw_selection_t selection = mw_selection_options_take(job->arguments);
	return mw_selection_apply(p, &selection, error);
}

static int load(const job_t *job, const char *const *names, size_t count, mw_profile_t **out,
		mw_error_t *error) {
	size_t base_first;
	bool by_label = mw_selection_options_need_labels(job->arguments);
	mw_inputs_t inputs = {.targets = names,
			      .target_count = count,
			      .detail = by_label ? MW_LOAD_SPLIT : MW_LOAD_STACKS};
	if (mw_inputs_load(&inputs, out, &base_first, error) != 0 ||
	    select_from(job, *out, error) != 0)
		return -1;
	mw_profile_forget_labels(*out);
	mw_profile_combine(*out);
	return 0;
}

/* Loads what the last leak check found: of a live process by a new check, of a state file, or of
 * profiles that 'mallow leaks' and 'mallow run --leaks' wrote. */
static int load_leaks(job_t *job, mw_error_t *error) {
	const mw_arguments_t *arguments = job->arguments;
	const mw_check_options_t options = {.wait_seconds = MW_REQUEST_WAIT_SECONDS,
					    .limit_seconds = MW_CHECK_LIMIT_SECONDS};
	mw_snapshot_t *snapshot = NULL;
	mw_target_t target;
	if (mw_load_resolve(arguments->operands[0], &target, error) != 0)
		return -1;
	int result = 0;
	if (!target.is_state)
		result = load(job, (const char *const *)arguments->operands,
			      arguments->operand_count, &job->whole, error);
	else if (arguments->operand_count > 1)
		result = mw_error_set(error, "check: --leaks takes one process at a time");
	else if (target.alive)
		result = mw_check_process(&target, &options, &snapshot, error);
	else
		result = mw_check_read(&target, &snapshot, error);
	if (result == 0 && snapshot != NULL) {
		const mw_state_leak_check_t *check = &snapshot->leak_check;
		job->leaked_bytes = (int64_t)(check->direct_bytes + check->indirect_bytes);
		job->whole = mw_profile_of_leaks(snapshot, NULL);
		mw_load_names(&target, NULL, MW_LOAD_SYMBOLS, job->whole);
		result = select_from(job, job->whole, error);
		mw_profile_forget_labels(job->whole);
		mw_profile_combine(job->whole);
	} else if (result == 0 && mw_profile_find_type(job->whole, "below_space") < 0) {
		result = mw_error_set(error,
				      "%s: is no profile of leaks; give a process, or a file that "
				      "'mallow run --leaks -o FILE' wrote",
				      target.shown);
	}
	mw_snapshot_free(snapshot);
	mw_target_release(&target);
	return result;
}

static void leave_out_known(const job_t *job, mw_profile_t *p, mw_known_t *known, size_t *count) {
	if (!job->arguments->options.no_default_suppressions.given)
		*count = mw_known_leave_out(p, known);
}

static int subtract(const mw_profile_t *profile, mw_profile_t *base, mw_profile_t **out,
		    mw_error_t *error) {
	*out = mw_profile_copy(profile);
	if (mw_profile_keep_types_of(*out, base) == 0)
		return mw_error_set(error, "the baseline has no sample type in common with the "
					   "profile; give a heap profile");
	mw_profile_subtract(*out, base);
	mw_profile_combine(*out);
	return 0;
}

static int load_growth(job_t *job, mw_error_t *error) {
	const mw_list_value_t *names = &job->arguments->options.baseline;
	mw_known_t known[MW_KNOWN_MAX];
	size_t known_count;
	if (load(job, names->texts, names->text_count, &job->whole_base, error) != 0)
		return -1;
	mw_suppress(&job->suppressions, job->whole_base, false);
	job->live_base = mw_profile_copy(job->whole_base);
	leave_out_known(job, job->live_base, known, &known_count);
	return subtract(job->whole, job->whole_base, &job->whole_growth, error) == 0 &&
			       subtract(job->live, job->live_base, &job->live_growth, error) == 0
		       ? 0
		       : -1;
}

static int load_all(job_t *job, mw_error_t *error) {
	const mw_list_value_t *files = &job->arguments->options.suppress;
	for (size_t i = 0; i < files->text_count; i++)
		if (mw_suppressions_read(&job->suppressions, files->texts[i], error) != 0)
			return -1;
	bool is_leaks = job->arguments->options.leaks.given;
	if (is_leaks ? load_leaks(job, error) != 0
		     : load(job, (const char *const *)job->arguments->operands,
			    job->arguments->operand_count, &job->whole, error) != 0)
		return -1;
	job->has_samples = job->whole->sample_count > 0;
	/* A mistyped pattern would leave no samples and pass every limit. */
	if (job->whole->sample_count == 0 && mw_selection_options_given(job->arguments))
		mw_complain("note: the options select no stack of the profile");
	mw_suppress(&job->suppressions, job->whole, true);
	/* Memory that libraries keep on purpose is no leak, but it is a part of the peak. */
	job->live = mw_profile_copy(job->whole);
	if (!is_leaks)
		leave_out_known(job, job->live, job->check.known, &job->check.known_count);
	return job->arguments->options.baseline.given ? load_growth(job, error) : 0;
}

/* Reads the limit in bytes. */
static int parse_limit(const job_t *job, mw_limit_kind_t kind, const mw_limit_profiles_t *profiles,
		       int64_t *bytes, mw_error_t *error) {
	double percent = -1;
	if (kind == MW_LIMIT_LEAKS) {
		*bytes = 0;
		return 0;
	}
	bool is_growth = mw_limit_is_growth(kind);
	const char *name = mw_limit_name(kind), *text = mw_argument(job->arguments, name)->text;
	if (!mw_limit_parse(text, bytes, is_growth ? &percent : NULL))
		return mw_error_set(error,
				    "check: --%s does not take '%s'; allowed: bytes such as "
				    "0, 512K or 200M%s",
				    name, text, is_growth ? ", or a share such as 5%" : "");
	if (percent >= 0)
		*bytes = (int64_t)((double)mw_limit_baseline(kind, profiles) * percent / 100);
	return 0;
}

static int check_limits(job_t *job, mw_error_t *error) {
	mw_check_t *c = &job->check;
	const mw_limit_profiles_t profiles = {job->whole,     job->live,         job->whole_base,
					      job->live_base, job->whole_growth, job->live_growth};
	for (mw_limit_kind_t kind = 0; kind < MW_LIMIT_KINDS; kind++) {
		int64_t allowed;
		if (!mw_argument(job->arguments, mw_limit_name(kind))->given)
			continue;
		if (parse_limit(job, kind, &profiles, &allowed, error) != 0 ||
		    mw_limit_check(kind, &profiles, allowed, &c->findings[c->count], error) != 0)
			return -1;
		/* No leak is sampled, and their sum is known all the same. */
		if (kind == MW_LIMIT_LEAKS && !job->has_samples && job->leaked_bytes > 0) {
			mw_finding_t *f = &c->findings[c->count];
			f->measured = f->low = f->high = job->leaked_bytes;
			f->passed = false;
		}
		c->profiles[c->count++] = mw_limit_profile(kind, &profiles);
	}
	return 0;
}

static int print(job_t *job, mw_error_t *error) {
	const char *format = job->arguments->options.format.text,
		   *path = job->arguments->options.output.text;
	if (path == NULL)
		mw_pager_begin(job->arguments);
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	if (out == NULL)
		return mw_error_set(error, "check: out of memory; try a smaller profile");
	bool is_text = format == NULL || strcmp(format, "text") == 0;
	if (path == NULL && is_text)
		job->check.columns = mw_terminal_columns(stdout);
	if (is_text)
		mw_check_print_text(out, &job->check);
	else if (strcmp(format, "json") == 0)
		mw_check_print_json(out, &job->check);
	else
		mw_check_print_junit(out, &job->check);
	fclose(out);
	int result = mw_picture_write(NULL, path, text, length, error);
	free(text);
	return result;
}

/* Returns the names of all checked targets as one text. */
static char *join_names(const mw_arguments_t *arguments) {
	char *joined = mw_xstrdup(arguments->operands[0]);
	for (size_t i = 1; i < arguments->operand_count; i++) {
		char *longer;
		if (asprintf(&longer, "%s %s", joined, arguments->operands[i]) < 0)
			break;
		free(joined);
		joined = longer;
	}
	return joined;
}

static void release(job_t *job) {
	for (size_t i = 0; i < job->check.count; i++)
		mw_stacks_release(&job->check.findings[i].stacks);
	mw_suppressions_release(&job->suppressions);
	free(job->name);
	mw_profile_free(job->whole);
	mw_profile_free(job->live);
	mw_profile_free(job->whole_base);
	mw_profile_free(job->live_base);
	mw_profile_free(job->whole_growth);
	mw_profile_free(job->live_growth);
}

static bool options_make_sense(const job_t *job) {
	bool growth = false;
	for (mw_limit_kind_t kind = 0; kind < MW_LIMIT_KINDS; kind++)
		growth |= mw_limit_is_growth(kind) &&
			  mw_argument(job->arguments, mw_limit_name(kind))->given;
	if (growth != job->arguments->options.baseline.given) {
		mw_complain("check: --baseline and --max-growth, --max-peak-growth or "
			    "--max-alloc-growth need each other; give both");
		return false;
	}
	bool others = growth || job->arguments->options.max_peak.given ||
		      job->arguments->options.max_live.given;
	if (others && job->arguments->options.leaks.given) {
		mw_complain("check: --leaks and other limits cannot be combined: they are of "
			    "different profiles");
		return false;
	}
	if (others || job->arguments->options.leaks.given)
		return true;
	mw_complain("check: no limit given; give --max-live, --max-peak, --max-growth, "
		    "--max-peak-growth, --max-alloc-growth or --leaks");
	return false;
}

int mw_cmd_check(const mw_arguments_t *arguments) {
	job_t job = {.arguments = arguments};
	mw_error_t error;
	const mw_number_value_t *top = &arguments->options.top;
	job.check.suppressions = &job.suppressions;
	job.check.stacks_max = top->given ? (size_t)top->number : DEFAULT_STACKS;
	if (!options_make_sense(&job))
		return MW_EXIT_TROUBLE;
	mw_load_take_options(arguments);
	mw_load_take_fetch_options(arguments);
	job.check.name = job.name = join_names(arguments);
	int result = load_all(&job, &error);
	if (result == 0)
		result = check_limits(&job, &error);
	if (result == 0)
		result = print(&job, &error);
	int status = mw_check_passed(&job.check) ? MW_EXIT_FINE : MW_EXIT_FINDING;
	if (result != 0) {
		mw_complain("%s", error.text);
		status = MW_EXIT_TROUBLE;
	}
	release(&job);
	return status;
}
