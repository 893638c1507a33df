/* SPDX-License-Identifier: MIT
 * heap_walk_request.c -- writes the request into the state file, and waits for the answer. */
#include "cmd/memory/heap_walk_request.h"

#include "live/control.h"
#include "live/process/process.h"

/* Longest wait.  A thread that allocates reads a request at its next refill. */
#define WAIT_SECONDS 0.2

void mw_heap_walk_request(const mw_target_t *target) {
	mw_request_t request = {.kind = MW_REQUEST_WALK};
	mw_reply_t reply;
	mw_error_t error;
	mw_process_t process;
	int pid = mw_target_process(target);
	if (pid > 0 && mw_process_read(pid, &process) && !process.paused)
		mw_control_send(target, &request, WAIT_SECONDS, &reply, &error);
}
