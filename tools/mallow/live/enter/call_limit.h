/* SPDX-License-Identifier: MIT
 * call_limit.h -- what remains of the time limit of the call that a thread sleeps in.
 * Layer: live/enter.  As os/process/asleep.h of the library, from outside. */
#ifndef MW_TOOL_LIVE_ENTER_CALL_LIMIT_H
#define MW_TOOL_LIVE_ENTER_CALL_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct mw_asleep {
	uint64_t number;   /* of the call */
	uint64_t until_ns; /* CLOCK_MONOTONIC at which the limit ends; 0: not known, or none */
	uint64_t sleeps;   /* how often the thread has gone to sleep */
} mw_asleep_t;

/* Reads the timed call (os/platform/interrupted_call.h) that the thread sleeps in.  Called before
 * the thread is stopped, which wakes it. */
mw_asleep_t mw_asleep_read(int pid, int thread);
/* Returns what remains now, if the stopped thread has done nothing since; 0: not known. */
uint64_t mw_asleep_rest_ns(int pid, int thread, const mw_asleep_t *before);

#endif
