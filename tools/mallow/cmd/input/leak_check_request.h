/* SPDX-License-Identifier: MIT
 * leak_check_request.h -- has a live process check itself for leaks.
 * Layer: cmd/input. */
#ifndef MW_TOOL_CMD_INPUT_LEAK_CHECK_REQUEST_H
#define MW_TOOL_CMD_INPUT_LEAK_CHECK_REQUEST_H

#include <stdbool.h>

#include "formats/state/state_file.h"
#include "live/program_hold.h"
#include "live/target.h"
#include "model/error.h"

#define MW_CHECK_LIMIT_SECONDS 600.0 /* for a search */

typedef struct mw_check_options {
	double wait_seconds;  /* until the process sees the request */
	double limit_seconds; /* until the search ends */
	uint32_t options;     /* as control.want_leak_options */
} mw_check_options_t;

/* Requests a check and waits for its end.  Prints the progress on a terminal.  Returns 0: the
 * caller frees *snapshot, which holds stacks, records and the leak check. -1 too if the process
 * ends, or executes another program. */
int mw_check_process(const mw_target_t *target, const mw_check_options_t *options,
		     mw_snapshot_t **snapshot, mw_error_t *error);
/* Likewise, of a program that the caller holds. */
int mw_check_program(const mw_target_t *target, const mw_program_hold_t *program,
		     const mw_check_options_t *options, mw_snapshot_t **snapshot,
		     mw_error_t *error);
/* Reads the last check of a process or state file.  Fails if there was none. */
int mw_check_read(const mw_target_t *target, mw_snapshot_t **snapshot, mw_error_t *error);

#endif
