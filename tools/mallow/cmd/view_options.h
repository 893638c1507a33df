/* SPDX-License-Identifier: MIT
 * view_options.h -- the options that report and all views share.
 * Layer: cmd.  One table; the names are pprof's and jeprof's, in which '-' and '_' are the same,
 * and one dash does for two. */
#ifndef MW_CMD_VIEW_OPTIONS_H
#define MW_CMD_VIEW_OPTIONS_H

#include "cmd/options.h"
#include "view/view.h"

extern const mw_option_t mw_view_options[];

/* Fills in the selection from the command line. */
void mw_view_options_selection(const mw_arguments_t *arguments, mw_selection_t *selection);
mw_granularity_t mw_view_options_granularity(const mw_arguments_t *arguments);
/* The sample type's name, number or NULL for the profile's own choice. */
const char *mw_view_options_type(const mw_arguments_t *arguments);
/* How disasm writes instructions. */
mw_syntax_t mw_view_options_syntax(const mw_arguments_t *arguments);
/* Are values divided by those of the first sample type? */
bool mw_view_options_is_mean(const mw_arguments_t *arguments);
/* Is it an option that leaves something out? */
bool mw_view_options_is_filter(const char *name);
/* Does it need samples split by thread, size and lifetime? */
bool mw_view_options_need_labels(const mw_arguments_t *arguments);
/* The options in force that leave something out, "   focus=x\n" each; the caller frees it. */
char *mw_view_options_filters(const mw_arguments_t *arguments);

#endif
