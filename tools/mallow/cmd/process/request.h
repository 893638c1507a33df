/* SPDX-License-Identifier: MIT
 * request.h -- sends one request to a target.
 * Layer: cmd/process. */
#ifndef MW_TOOL_CMD_PROCESS_REQUEST_H
#define MW_TOOL_CMD_PROCESS_REQUEST_H

#include "cmd/input/load.h"
#include "live/control.h"

/* Longest wait for a process.  A busy process refills thousands of times a second. */
#define MW_REQUEST_WAIT_SECONDS 2.0

/* Sends a request.  Returns 0, or -1 with `error`: the target is no live process, or the request
 * failed. */
int mw_request_send(const mw_target_t *target, const mw_request_t *request, double wait_seconds,
		    mw_reply_t *reply, mw_error_t *error);

#endif
