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

/* Called while the program runs: after MW_LAUNCH_TICK_FIRST_NS, then after twice the time each, up
 * to MW_LAUNCH_TICK_LAST_NS. */
typedef struct mw_launch_tick {
	void (*call)(void *context, int pid);
	void *context;
} mw_launch_tick_t;

/* Soon enough to see most programs, and in the end seldom enough to cost them nothing. */
#define MW_LAUNCH_TICK_FIRST_NS 1000000u
#define MW_LAUNCH_TICK_LAST_NS 512000000u

/* Runs argv[0], searched in PATH, with the caller's environment.  While it runs, SIGINT, SIGTERM,
 * SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 sent to the caller are sent on to it, except those that the
 * terminal sends to both, and those that are ignored, which the program inherits. */
int mw_launch(char **argv, const mw_launch_tick_t *tick, mw_launch_t *out, mw_error_t *error);

/* Ends the caller as the program ended: by the same signal, without another core file, or with the
 * same status. */
_Noreturn void mw_launch_end_alike(int wait_status);

#endif
