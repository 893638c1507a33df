/* SPDX-License-Identifier: MIT
 * profile_series.c -- loads the profiles of a series one after the other. */
#include <stdlib.h>

#include "cmd/input/directory.h"
#include "cmd/profile/view.h"
#include "cmd/profile/view_request.h"
#include "view/table/slopes.h"
#include "view/table/tables.h"

static int check_words(const mw_arguments_t *arguments, mw_error_t *error) {
	static const char *const others[] = {"base",     "diff-base",    "since",
					     "alive-at", "made-between", "normalize"};
	mw_view_request_t request;
	mw_view_request_make(arguments, &request);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (mw_argument(arguments, others[i])->given)
			return mw_error_set(error,
					    "diff: --%s cannot be combined with more than two "
					    "profiles; leave it out, or give two profiles",
					    others[i]);
	if (!mw_view_request_has(&request, MW_VIEW_SERIES))
		return mw_error_set(error,
				    "diff: more than two profiles are shown only as a table or its "
				    "JSON; give two profiles for a %s",
				    request.view->name);
	return 0;
}

/* Loads one profile as `mallow top` does. */
static int load(const mw_arguments_t *arguments, char *target, mw_profile_t **profile, mw_view_t *v,
		mw_error_t *error) {
	mw_arguments_t one = *arguments;
	char *operands[] = {target, NULL};
	one.subcommand = mw_subcommand_find("top");
	one.operands = operands;
	one.operand_count = 1;
	return mw_view_load(&one, profile, v, error);
}

int mw_profile_series_show(const mw_arguments_t *arguments, mw_error_t *error) {
	size_t count = arguments->operand_count;
	mw_slopes_t *slopes = mw_slopes_new(count);
	mw_profile_t *profile = NULL;
	mw_view_t v = {0};
	mw_changes_t changes = {0};
	int result = check_words(arguments, error);
	for (size_t k = 0; k < count && result == 0; k++) {
		mw_view_release(&v);
		mw_profile_free(profile);
		result = load(arguments, arguments->operands[k], &profile, &v, error);
		if (result == 0)
			mw_slopes_add(slopes, k, &v,
				      mw_dump_time_ns(profile, arguments->operands[k]));
	}
	if (result == 0)
		result = mw_slopes_fit(slopes, &v, &changes, error);
	v.name = "diff";
	if (result == 0)
		result = mw_view_print(arguments, &v, error);
	free(changes.rows);
	mw_view_release(&v);
	mw_profile_free(profile);
	mw_slopes_free(slopes);
	return result;
}
