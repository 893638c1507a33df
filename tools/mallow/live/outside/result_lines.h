/* SPDX-License-Identifier: MIT
 * result_lines.h -- a result as lines of text, from the process that sampled to the command.
 * Layer: live/outside.  Private to this folder. */
#ifndef MW_TOOL_LIVE_OUTSIDE_RESULT_LINES_H
#define MW_TOOL_LIVE_OUTSIDE_RESULT_LINES_H

#include <stdio.h>

#include "live/outside/code/mapped_code.h"
#include "live/outside/outside.h"
#include "live/outside/samples.h"

void mw_outside_lines_write(FILE *out, const mw_outside_result_t *result,
			    const mw_outside_modules_t *modules,
			    const mw_outside_samples_t *samples);
/* Reads them; the text is changed.  -1: they are damaged. */
int mw_outside_lines_read(char *text, mw_outside_result_t *out, mw_error_t *error);

#endif
