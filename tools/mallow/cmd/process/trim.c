/* SPDX-License-Identifier: MIT
 * trim.c -- `mallow trim`: has a process give its free memory back to the kernel. */
#include <stdio.h>

#include "cli/complain.h"
#include "cli/print.h"
#include "cmd/input/selected_processes.h"
#include "cmd/process/process_commands.h"
#include "live/control.h"
#include "report/text/units.h"

static int trim_target(const mw_target_t *target, const void *context, mw_error_t *error) {
	const double *wait_seconds = context;
	mw_request_t request = {.kind = MW_REQUEST_TRIM};
	mw_reply_t reply;
	char bytes[MW_SHOW_BYTES], pending[MW_PENDING_BYTES];
	if (mw_control_send(target, &request, *wait_seconds, &reply, error) != 0)
		return -1;
	if (reply.outcome == MW_OUTCOME_PENDING)
		printf("pid %d: %s\n", target->pid, mw_control_pending(&reply, pending));
	else
		printf("pid %d: gave %s back\n", target->pid,
		       mw_format_bytes((int64_t)reply.trimmed_bytes, bytes, sizeof(bytes)));
	return MW_EXIT_FINE;
}

int mw_cmd_trim(const mw_arguments_t *arguments) {
	const mw_seconds_value_t *wait = &arguments->options.wait;
	double wait_seconds = wait->given ? wait->seconds : MW_REQUEST_WAIT_SECONDS;
	return mw_on_selected(arguments, trim_target, &wait_seconds);
}
