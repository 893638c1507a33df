/* SPDX-License-Identifier: MIT
 * launch.h -- runs a program as if the caller had started it, and waits for its end.
 * Layer: live.  One launch at a time: signal handlers have no other way to know the child. */
#ifndef MW_LIVE_LAUNCH_H
#define MW_LIVE_LAUNCH_H

#include <stdint.h>

#include "model/error.h"

typedef struct mw_launch {
	int pid;
	int exec_errno;       /* 0: the program was executed; else why not */
	int wait_status;      /* as of waitpid(2) */
	uint64_t start_ticks; /* of the process, see live/process.h */
	uint64_t wall_ns;
} mw_launch_t;

typedef struct mw_launch_tick {
	void (*call)(void *context); /* every MW_LAUNCH_TICK_SECONDS while the program runs */
	void *context;
} mw_launch_tick_t;

/* Seldom enough to cost the program nothing, often enough to keep what a build with thousands of
 * processes leaves behind small. */
#define MW_LAUNCH_TICK_SECONDS 2

/* Runs argv[0], searched in PATH, with the caller's environment.  While it runs, SIGINT, SIGTERM,
 * SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 sent to the caller are sent on to it, except those that the
 * terminal sends to both, and those that are ignored, which the program inherits. */
int mw_launch(char **argv, const mw_launch_tick_t *tick, mw_launch_t *out, mw_error_t *error);

/* Ends the caller as the program ended: by the same signal, without another core file, or with the
 * same status. */
_Noreturn void mw_launch_end_alike(int wait_status);

#endif
