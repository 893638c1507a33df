/* SPDX-License-Identifier: MIT
 * view.h -- shows a profile by the options of a command line.
 * Layer: cmd/profile.  `arguments` are of a view's subcommand, or of `report`. */
#ifndef MW_TOOL_CMD_PROFILE_VIEW_H
#define MW_TOOL_CMD_PROFILE_VIEW_H

#include "cli/options.h"
#include "cmd/input/inputs.h"
#include "view/common/view.h"

/* Fills in the inputs to load.  Texts belong to `arguments`. */
int mw_view_inputs(const mw_arguments_t *arguments, mw_inputs_t *inputs, mw_error_t *error);

/* Prints the view on stdout or into the file of --output.  Changes `profile`; `base_first` as in
 * inputs.h. */
int mw_view_show(const mw_arguments_t *arguments, mw_profile_t *profile, size_t base_first,
		 mw_error_t *error);

/* Loads and selects, for callers that print by themselves.  The caller frees *profile and
 * releases `view` after an error, too. */
int mw_view_load(const mw_arguments_t *arguments, mw_profile_t **profile, mw_view_t *view,
		 mw_error_t *error);
int mw_view_print(const mw_arguments_t *arguments, const mw_view_t *view, mw_error_t *error);
/* `mallow diff` of more than two profiles: prints how each function grew over the operands.  One
 * profile is in memory at a time. */
int mw_profile_series_show(const mw_arguments_t *arguments, mw_error_t *error);
/* An all-zero view is allowed. */
void mw_view_release(mw_view_t *view);

/* If the user chose no type and every value of *type is 0 (the program freed everything),
 * changes *type to the peak's type, or else to that of allocations, and prints a note on stderr.
 * `by_sample`: the view needs what the peak does not have: labels, or numbers of samples. */
void mw_view_choose_type(const mw_arguments_t *arguments, const mw_profile_t *profile,
			 bool by_sample, size_t *type);
/* Returns -1 with an error that lists the threads if the profile has no samples of the thread that
 * --thread names. */
int mw_view_check_thread(const mw_arguments_t *arguments, const mw_profile_t *profile, size_t type,
			 mw_error_t *error);

#endif
