/* SPDX-License-Identifier: MIT
 * request.c -- sends one request to a live process. */
#include "cmd/process/request.h"

int mw_request_send(const mw_target_t *target, const mw_request_t *request, double wait_seconds,
		    mw_reply_t *reply, mw_error_t *error) {
	if (!target->is_state)
		return mw_error_set(error, "%s: it is a profile, not a process; give a pid",
				    target->shown);
	if (!target->alive)
		return mw_error_set(error,
				    "pid %d: the process has ended; its profile can still be read "
				    "with 'mallow report %s'",
				    target->pid, target->shown);
	return mw_control_request(target->path, target->shown, request, wait_seconds, reply, error);
}
