/* SPDX-License-Identifier: MIT
 * report.c -- `mallow report`: the flat/cum table, stacks, JSON. */
#include <stdio.h>

#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/load.h"
#include "cmd/report_json.h"
#include "cmd/show.h"
#include "cmd/view_options.h"
#include "report/report.h"

/* Two screens; the functions below the fortieth rarely matter. */
#define DEFAULT_ROWS 40
/* A paragraph each. */
#define DEFAULT_STACKS 10

static int report_target(const mw_target_t *target, const void *context, mw_error_t *error) {
	const mw_arguments_t *arguments = context;
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
	bool json = mw_argument(arguments, "json")->given;
	mw_selection_t selection;
	mw_view_options_selection(arguments, &selection);
	bool split = json || mw_view_options_need_labels(arguments) || options.stacks ||
		     options.intervals;
	if (options.stacks && !top->given)
		options.row_limit = DEFAULT_STACKS;
	if (mw_argument(arguments, "all")->given)
		options.row_limit = 0;
	mw_profile_t *profile;
	if (mw_load(target, MW_LOAD_SYMBOLS_NOTES, split ? MW_LOAD_SPLIT : MW_LOAD_STACKS, &profile,
		    error) != 0)
		return -1;
	int result = mw_selection_apply(profile, &selection, error);
	if (result == 0)
		result = json ? mw_report_json(profile, &options, error)
			      : mw_report_print(stdout, profile, &options, error);
	mw_profile_free(profile);
	return result;
}

/* What the table of `top` knows and this one does not. */
static bool is_for_views(const mw_arguments_t *arguments) {
	static const char *const options[] = {"output", "base",      "diff-base",     "unit",
					      "files",  "addresses", "filefunctions", "nodecount"};
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (mw_argument(arguments, options[i])->given)
			return true;
	return false;
}

int mw_cmd_report(const mw_arguments_t *arguments) {
	mw_load_take_options(arguments);
	if (is_for_views(arguments))
		return mw_cmd_view(arguments);
	return mw_on_target(arguments->operands[0], report_target, arguments);
}
