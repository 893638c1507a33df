/* SPDX-License-Identifier: MIT
 * report.c -- `mallow report`: the flat/cum table, stacks, JSON. */
#include <stdio.h>
#include <string.h>

#include "cli/complain.h"
#include "cli/pager.h"
#include "cli/terminal.h"
#include "cmd/profile/profile_commands.h"
#include "cmd/profile/view.h"
#include "cmd/profile/view_options.h"
#include "cmd/report/report_commands.h"
#include "cmd/report/report_json.h"
#include "report/report.h"
#include "report/text/types.h"
#include "view/select/wrappers.h"

/* Rows of a table by default: two screens. */
#define DEFAULT_ROWS 40
/* Stacks by default; each has a paragraph. */
#define DEFAULT_STACKS 10

/* Prints the profile and changes it.  The table adds the allocations of wrappers to their
 * callers; --stacks and JSON have them.  JSON has interpreters' frames, too. */
static int print_profile(const mw_arguments_t *arguments, const mw_report_options_t *asked,
			 mw_profile_t *profile, mw_error_t *error) {
	mw_selection_t selection;
	mw_report_options_t options = *asked;
	size_t type;
	mw_view_options_selection(arguments, &selection);
	if (mw_report_find_type(profile, options.sample_type, &type, error) != 0)
		return -1;
	mw_view_choose_type(arguments, profile, options.intervals, &type);
	options.sample_type = mw_profile_string(profile, profile->types[type].type);
	if (mw_view_check_thread(arguments, profile, type, error) != 0 ||
	    mw_selection_apply(profile, &selection, error) != 0)
		return -1;
	if (arguments->options.json.given)
		return mw_report_json(profile, &options, error);
	if (!options.stacks && !arguments->options.wrappers.given)
		mw_wrappers_cut(profile, MW_WRAPPERS_ALL, NULL);
	if (!arguments->options.native.given)
		mw_interpreters_fold(profile, NULL);
	return mw_report_print(stdout, profile, &options, error);
}

static int report(const mw_arguments_t *arguments, mw_error_t *error) {
	const mw_number_value_t *top = &arguments->options.top;
	mw_report_options_t options = {
		.sample_type = mw_view_options_type(arguments),
		.by_line = arguments->options.lines.given,
		.sort_by_cum = arguments->options.cum.given,
		.row_limit = top->given ? (size_t)top->number : DEFAULT_ROWS,
		.columns = mw_terminal_columns(stdout),
		.intervals = arguments->options.interval.given,
		.stacks = arguments->options.stacks.given,
	};
	if (options.stacks && !top->given)
		options.row_limit = DEFAULT_STACKS;
	if (arguments->options.all.given)
		options.row_limit = 0;
	mw_inputs_t inputs;
	if (mw_view_inputs(arguments, &inputs, error) != 0)
		return -1;
	if (arguments->options.json.given || options.stacks || options.intervals)
		inputs.detail = MW_LOAD_SPLIT;
	if (inputs.target_count == 1 && inputs.base_count == 0)
		mw_load_add_resident();
	mw_profile_t *profile;
	size_t base_first;
	if (mw_inputs_load(&inputs, &profile, &base_first, error) != 0)
		return -1;
	int result = print_profile(arguments, &options, profile, error);
	mw_profile_free(profile);
	return result;
}

/* Returns an option that only the table of `top` has, or NULL. */
static const char *option_of_views(const mw_arguments_t *arguments) {
	for (const mw_option_t *option = arguments->subcommand->shared; option->name; option++)
		if (option->kind & MW_OPTION_OF_VIEWS &&
		    mw_argument(arguments, option->name)->given)
			return option->name;
	return NULL;
}

int mw_cmd_report(const mw_arguments_t *arguments) {
	const char *option = option_of_views(arguments);
	bool stacks = arguments->options.stacks.given;
	if (option != NULL && (stacks || arguments->options.interval.given)) {
		mw_complain("report: --%s and --%s cannot be combined; leave one out",
			    stacks ? "stacks" : "interval", option);
		return MW_EXIT_TROUBLE;
	}
	if (option != NULL)
		return mw_cmd_view(arguments);
	mw_error_t error;
	mw_pager_begin(arguments);
	int status = report(arguments, &error);
	if (status >= 0)
		return status;
	mw_complain("%s", error.text);
	return MW_EXIT_TROUBLE;
}
