/* SPDX-License-Identifier: MIT
 * view_options.h -- options that report and all views share.
 * Layer: cmd/profile.  There is one table.  Names are those of pprof and jeprof: '-' equals '_',
 * and a single dash is accepted. */
#ifndef MW_TOOL_CMD_PROFILE_VIEW_OPTIONS_H
#define MW_TOOL_CMD_PROFILE_VIEW_OPTIONS_H

#include "cli/options.h"
#include "view/common/view.h"

extern const mw_option_t mw_view_options[];
/* Names of the ten most used options; NULL ends the list. */
extern const char *const mw_view_common_options[];

/* The part of the table that chooses stacks and frames, for other subcommands that read profiles,
 * and the names that their --help shows. */
extern const mw_option_t mw_selection_options[];
extern const char *const mw_selection_common_options[];

/* Reads the options of mw_selection_options. */
mw_selection_t mw_selection_options_take(const mw_arguments_t *arguments);
/* True if one of them leaves something out. */
bool mw_selection_options_given(const mw_arguments_t *arguments);
/* True if one of them needs samples split by thread, size and lifetime. */
bool mw_selection_options_need_labels(const mw_arguments_t *arguments);

/* Fills in the selection from the command line. */
void mw_view_options_selection(const mw_arguments_t *arguments, mw_selection_t *selection);
mw_granularity_t mw_view_options_granularity(const mw_arguments_t *arguments);
/* Returns the sample type's name or number; NULL = the profile's default. */
const char *mw_view_options_type(const mw_arguments_t *arguments);
/* Returns the syntax of instructions for disasm. */
mw_syntax_t mw_view_options_syntax(const mw_arguments_t *arguments);
/* True if values are divided by those of the first sample type. */
bool mw_view_options_is_mean(const mw_arguments_t *arguments);
/* True if the option leaves something out. */
bool mw_view_options_is_filter(const char *name);
/* True if an option needs samples split by thread, size and lifetime. */
bool mw_view_options_need_labels(const mw_arguments_t *arguments);
/* Returns the options that leave something out, each as a line "   focus=x"; the caller frees the
 * text. */
char *mw_view_options_filters(const mw_arguments_t *arguments);

#endif
