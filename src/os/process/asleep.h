/* SPDX-License-Identifier: MIT
 * asleep.h -- how long a thread is going to sleep in a system call.
 * Layer: os/process. */
#ifndef MW_OS_ASLEEP_H
#define MW_OS_ASLEEP_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__aarch64__)
#include "os/platform/interrupted_call.h"
#endif

typedef struct mw_os_asleep {
#if defined(__aarch64__)
	mw_sleeping_call_t call;
#endif
	/* CLOCK_MONOTONIC at which the time limit of the thread's call ends; 0: not known */
	uint64_t until_ns;
	uint64_t sleeps; /* how often the thread has gone to sleep */
} mw_os_asleep_t;

/* Reads when the timed call (os/platform/interrupted_call.h) ends that a thread sleeps in. The time
 * is 0 if it sleeps in no such call, if the call has no limit, or if the kernel does not tell. The
 * thread shares the memory of the caller. `directory`: an open /proc/self/task of its process.
 * Changes on which processors the calling thread may run. */
mw_os_asleep_t mw_os_asleep_read(int directory, uint32_t thread_id);
/* Returns whether the thread, which a tracer has stopped since, has only slept and stopped. */
bool mw_os_asleep_only_stopped(int directory, uint32_t thread_id, const mw_os_asleep_t *before);

#endif
