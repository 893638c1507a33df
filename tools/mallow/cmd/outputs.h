/* SPDX-License-Identifier: MIT
 * outputs.h -- the commands of pprof and jeprof, as views.
 * Layer: cmd. */
#ifndef MW_CMD_OUTPUTS_H
#define MW_CMD_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/options.h"
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

/* NULL: there is none of that name; the views that pprof has not are found, too. */
const mw_output_row_t *mw_output_row_find(const char *name);
/* Does it take a regular expression? */
bool mw_output_has_pattern(const mw_output_row_t *row);

/* Makes it of a profile, which it changes: on stdout, in the file of --output, in one named
 * profile001.svg and so on where a terminal would show it badly, or in a program's window.
 * `arguments` are of the view's subcommand.  Returns the exit status. */
int mw_output_make(const mw_output_row_t *row, mw_arguments_t *arguments, mw_profile_t *profile,
		   size_t base_first);

#endif
