/* SPDX-License-Identifier: MIT
 * outputs.h -- the commands of pprof and jeprof as views.
 * Layer: cmd/compat. */
#ifndef MW_TOOL_CMD_COMPAT_OUTPUTS_H
#define MW_TOOL_CMD_COMPAT_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"
#include "model/profile.h"

typedef struct mw_output_row {
	const char *name;
	const char *view;
	const char *format;
	const char *programs;
	const char *help;
} mw_output_row_t;

extern const mw_output_row_t mw_outputs[];
extern const size_t mw_output_count;

/* Finds a command, or a view of mallow that pprof does not have.  NULL: there is none of this
 * name. */
const mw_output_row_t *mw_output_row_find(const char *name);
/* True if the command takes a regular expression. */
bool mw_output_has_pattern(const mw_output_row_t *row);

/* Makes the output of a profile, which is changed.  The output goes to stdout; to the file of
 * --output; to a file profile001.svg and so on, if a terminal cannot show it; or to a program
 * with a window.  `arguments` are of the view's subcommand.  Returns the exit status. */
int mw_output_make(const mw_output_row_t *row, mw_arguments_t *arguments, mw_profile_t *profile,
		   size_t base_first);

#endif
