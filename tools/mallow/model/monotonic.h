/* SPDX-License-Identifier: MIT
 * monotonic.h -- the time that passes while the command waits (CLOCK_MONOTONIC).
 * Layer: model. */
#ifndef MW_TOOL_MODEL_MONOTONIC_H
#define MW_TOOL_MODEL_MONOTONIC_H

#include <stdint.h>
#include <time.h>

static inline uint64_t mw_monotonic_ns(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline double mw_monotonic_seconds(void) {
	return (double)mw_monotonic_ns() / 1e9;
}

#endif
