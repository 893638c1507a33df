/* SPDX-License-Identifier: MIT
 * launch.h -- runs a program as if the caller had started it, and waits for its end.
 * Layer: live/process.  Only one launch at a time, because signal handlers find the child in a
 * global variable. */
#ifndef MW_TOOL_LIVE_PROCESS_LAUNCH_H
#define MW_TOOL_LIVE_PROCESS_LAUNCH_H

#include <stdint.h>

#include "model/error.h"

typedef struct mw_launch {
	int pid;
	int exec_errno;       /* errno of the failed exec; 0 = the program was executed */
	int wait_status;      /* status of waitpid(2) */
	uint64_t start_ticks; /* start time of the process (live/process/process.h) */
	uint64_t wall_ns;
} mw_launch_t;

/* Called while the program runs: first after MW_LAUNCH_TICK_FIRST_NS, then after intervals that
 * double up to MW_LAUNCH_TICK_LAST_NS. */
typedef struct mw_launch_tick {
	void (*call)(void *context, int pid);
	void *context;
} mw_launch_tick_t;

/* The first interval is short enough to see most programs; the last is long enough to cost them
 * nothing. */
#define MW_LAUNCH_TICK_FIRST_NS 1000000u
#define MW_LAUNCH_TICK_LAST_NS 512000000u

/* Runs argv[0], searched in PATH, with the caller's environment.  While the program runs,
 * SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 sent to the caller are forwarded to it.
 * Not forwarded are signals that the terminal sends to both, and ignored signals, which the
 * program inherits as ignored. */
int mw_launch(char **argv, const mw_launch_tick_t *tick, mw_launch_t *out, mw_error_t *error);

/* Ends the caller as the program ended: by the same signal, without a second core file, or with
 * the same status. */
_Noreturn void mw_launch_end_alike(int wait_status);

#endif
