/* SPDX-License-Identifier: MIT
 * report.c -- `mallow report`: the flat/cum table, stacks, JSON. */
#include <stdio.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/report_json.h"
#include "cmd/terminal.h"
#include "cmd/view.h"
#include "cmd/view_options.h"
#include "report/report.h"
#include "report/types.h"

/* Two screens; the functions below the fortieth rarely matter. */
#define DEFAULT_ROWS 40
/* A paragraph each. */
#define DEFAULT_STACKS 10

static int print_profile(const mw_arguments_t *arguments, const mw_report_options_t *options,
			 mw_profile_t *profile, mw_error_t *error) {
	mw_selection_t selection;
	size_t type;
	mw_view_options_selection(arguments, &selection);
	if (mw_report_find_type(profile, options->sample_type, &type, error) != 0)
		return -1;
	mw_view_note_empty(arguments, profile, type);
	mw_view_note_thread(arguments, profile);
	if (mw_selection_apply(profile, &selection, error) != 0)
		return -1;
	return mw_argument(arguments, "json")->given
		       ? mw_report_json(profile, options, error)
		       : mw_report_print(stdout, profile, options, error);
}

static int report(const mw_arguments_t *arguments, mw_error_t *error) {
	const mw_option_value_t *top = mw_argument(arguments, "top");
	mw_report_options_t options = {
		.sample_type = mw_view_options_type(arguments),
		.by_line = mw_argument(arguments, "lines")->given,
		.sort_by_cum = mw_argument(arguments, "cum")->given,
		.row_limit = top->given ? (size_t)top->number : DEFAULT_ROWS,
		.columns = mw_terminal_columns(stdout),
		.intervals = mw_argument(arguments, "interval")->given,
		.stacks = mw_argument(arguments, "stacks")->given,
	};
	if (options.stacks && !top->given)
		options.row_limit = DEFAULT_STACKS;
	if (mw_argument(arguments, "all")->given)
		options.row_limit = 0;
	mw_inputs_t inputs;
	if (mw_view_inputs(arguments, &inputs, error) != 0)
		return -1;
	if (mw_argument(arguments, "json")->given || options.stacks || options.intervals)
		inputs.detail = MW_LOAD_SPLIT;
	mw_profile_t *profile;
	size_t base_first;
	if (mw_inputs_load(&inputs, &profile, &base_first, error) != 0)
		return -1;
	int result = print_profile(arguments, &options, profile, error);
	mw_profile_free(profile);
	return result;
}

/* Chooses samples, frames, the sample type: the same for every table. */
static bool is_for_all(const char *option) {
	static const char *const options[] = {
		"focus",         "ignore",      "hide",        "show",          "show-from",
		"prune-from",    "tagfocus",    "tagignore",   "tagshow",       "taghide",
		"tagroot",       "tagleaf",     "retain",      "exclude",       "thread",
		"sample-index",  "sample-type", "inuse-space", "inuse-objects", "alloc-space",
		"alloc-objects", "contentions", "total-delay", "functions",     "lines",
		"flat",          "cum",         "noinlines",   "trim-path",     "source-path",
		"json",          "symbolize",   "sysroot",     "binary-path",   "color",
		"no-pager",      "seconds",     "timeout"};
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (strcmp(options[i], option) == 0)
			return true;
	return false;
}

/* An option that the table of `top` knows and this one does not, or NULL. */
static const char *option_of_views(const mw_arguments_t *arguments) {
	for (const mw_option_t *option = arguments->subcommand->shared; option->name; option++)
		if (mw_argument(arguments, option->name)->given && !is_for_all(option->name))
			return option->name;
	return NULL;
}

int mw_cmd_report(const mw_arguments_t *arguments) {
	const char *option = option_of_views(arguments);
	bool stacks = mw_argument(arguments, "stacks")->given;
	if (option != NULL && (stacks || mw_argument(arguments, "interval")->given)) {
		mw_complain("report: --%s and --%s do not go together; leave one out",
			    stacks ? "stacks" : "interval", option);
		return MW_EXIT_TROUBLE;
	}
	if (option != NULL)
		return mw_cmd_view(arguments);
	mw_error_t error;
	mw_terminal_page(arguments);
	int status = report(arguments, &error);
	if (status >= 0)
		return status;
	mw_complain("%s", error.text);
	return MW_EXIT_TROUBLE;
}
