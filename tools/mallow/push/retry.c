/* SPDX-License-Identifier: MIT
 * retry.c -- waits that double, with jitter. */
#include "push/retry.h"

#include <sys/random.h>

#include "model/monotonic.h"

#define FIRST_SECONDS 0.5
#define LONGEST_SECONDS 30.0

mw_retry_t mw_retry_begin(double most_seconds) {
	mw_retry_t retry = {.most_seconds = most_seconds};
	if (getrandom(&retry.random, sizeof(retry.random), GRND_NONBLOCK) !=
	    (ssize_t)sizeof(retry.random))
		retry.random = mw_monotonic_ns();
	return retry;
}

/* Returns a number from 0 to 1 (splitmix64). */
static double draw(uint64_t *state) {
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

bool mw_retry_next(mw_retry_t *retry, long retry_after_seconds, double *seconds) {
	double wait = FIRST_SECONDS;
	for (unsigned i = 0; i < retry->waits && wait < LONGEST_SECONDS; i++)
		wait *= 2;
	wait = wait < LONGEST_SECONDS ? wait : LONGEST_SECONDS;
	wait *= 0.5 + draw(&retry->random) / 2;
	/* The random part on top of it: all hosts that were refused were told the same. */
	if (retry_after_seconds >= 0 && wait < (double)retry_after_seconds)
		wait = (double)retry_after_seconds + wait / 10;
	if (retry->waited_seconds + wait > retry->most_seconds)
		return false;
	retry->waits++;
	retry->waited_seconds += wait;
	*seconds = wait;
	return true;
}
