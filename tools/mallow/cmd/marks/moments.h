/* SPDX-License-Identifier: MIT
 * moments.h -- --since, --alive-at and --made-between: compare a process with its past.
 * Layer: cmd/marks. */
#ifndef MW_TOOL_CMD_MARKS_MOMENTS_H
#define MW_TOOL_CMD_MARKS_MOMENTS_H

#include "cmd/input/inputs.h"

/* Applies the three options: adds the mark of --since to `inputs` as a base, replaces the
 * process by the mark of --alive-at, and limits what is loaded to objects allocated in a time
 * window.  `inputs` refers to memory of this module until the next call. */
int mw_moments_take(const mw_arguments_t *arguments, mw_inputs_t *inputs, mw_error_t *error);

/* Returns the mark's name for pictures, which the caller frees; NULL = there is no mark. */
char *mw_moments_base(void);

#endif
