/* SPDX-License-Identifier: MIT
 * outside_session.h -- finds the process that a command line names, and samples it from outside
 * until the time is over or ^C.
 * Layer: cmd/outside. */
#ifndef MW_TOOL_CMD_OUTSIDE_OUTSIDE_SESSION_H
#define MW_TOOL_CMD_OUTSIDE_OUTSIDE_SESSION_H

#include "cli/options.h"
#include "live/outside/outside.h"
#include "live/process/process.h"
#include "model/error.h"

typedef struct mw_outside_session {
	mw_process_t process;
	mw_outside_options_t options;
	mw_outside_result_t result;
} mw_outside_session_t;

/* Samples allocations of the process of the first operand, with --rate, --force, and for `seconds`
 * (0: until ^C). SIGINT, SIGTERM and SIGHUP end that early.  Returns 0: the caller calls
 * mw_outside_session_release().  -1: `error` says what the user can do. */
int mw_outside_session(const mw_arguments_t *arguments, double seconds, double older_seconds,
		       mw_outside_session_t *out, mw_error_t *error);
/* Samples the CPU time of a process, a pid or a name, in the same way. */
int mw_outside_session_cpu(const char *process, unsigned hz, double seconds,
			   mw_outside_session_t *out, mw_error_t *error);
void mw_outside_session_release(mw_outside_session_t *session);

/* Prints on stderr why the sampling ended early, and what the result lacks. */
void mw_outside_session_notes(const mw_outside_session_t *session);

#endif
