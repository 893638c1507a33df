/* SPDX-License-Identifier: MIT
 * view.h -- one view of a profile, as a command line asks for it.
 * Layer: cmd.  `arguments` are of a view's subcommand, or of `report`. */
#ifndef MW_CMD_VIEW_H
#define MW_CMD_VIEW_H

#include "cmd/inputs.h"
#include "cmd/options.h"

/* What to load; the texts stay those of `arguments`. */
int mw_view_inputs(const mw_arguments_t *arguments, mw_inputs_t *inputs, mw_error_t *error);

/* Prints the view on stdout, or into the file of --output.  Changes `profile`; `base_first` as in
 * inputs.h. */
int mw_view_show(const mw_arguments_t *arguments, mw_profile_t *profile, size_t base_first,
		 mw_error_t *error);

/* A hint on stderr where the type that is shown unasked has only zeros, as after a program that
 * freed all it took, and another has something. */
void mw_view_note_empty(const mw_arguments_t *arguments, const mw_profile_t *profile, size_t type);
/* Likewise where --thread names one that the profile has nothing of. */
void mw_view_note_thread(const mw_arguments_t *arguments, const mw_profile_t *profile);

#endif
