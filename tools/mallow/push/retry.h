/* SPDX-License-Identifier: MIT
 * retry.h -- how long to wait before a profile is sent once more.
 * Layer: push.  Waits double, and a random part keeps many hosts from coming at one moment. */
#ifndef MW_TOOL_PUSH_RETRY_H
#define MW_TOOL_PUSH_RETRY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct mw_retry {
	double most_seconds; /* for all waits of one profile together; 0 = do not try again */
	uint64_t random;     /* changed with each wait; seeds of hosts differ */
	unsigned waits;      /* so far */
	double waited_seconds;
} mw_retry_t;

/* Starts with a random seed. */
mw_retry_t mw_retry_begin(double most_seconds);

/* Returns the next wait, and counts it: half to all of 0.5 s, 1 s, 2 s, ... up to 30 s, and at
 * least what the receiver has asked for (Retry-After; -1 = nothing).  False: it would end behind
 * the limit, and the caller gives up. */
bool mw_retry_next(mw_retry_t *retry, long retry_after_seconds, double *seconds);

#endif
