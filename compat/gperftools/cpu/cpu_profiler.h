/* SPDX-License-Identifier: MIT
 * cpu_profiler.h -- gperftools' CPU profiler: a signal each 10 ms of CPU time takes a stack, and a
 * file in the legacy binary format gets the counts.
 * Layer: compat/gperftools/cpu, the door of this folder. The folder is a library of its own,
 * libprofiler.so.0, with a copy of mallow's unwinder. It needs no allocator of mallow.
 *
 * Reading order: cpu_stacks.h (counts by stack), cpu_file.h (the file), cpu_timers.h (signal and
 * timers), cpu_profiler.c (start, stop, fork, deadly signals), cpu_environment.c (variables, start
 * and end of the process), cpu_names.c (the exported functions). */
#ifndef MW_COMPAT_GPERFTOOLS_CPU_PROFILER_H
#define MW_COMPAT_GPERFTOOLS_CPU_PROFILER_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* gperftools' depth of stacks. */
#define MW_GPC_DEPTH_MAX 254

/* Returns whether the calling thread's samples are counted. Called in signal handlers. */
typedef int mw_gpc_filter_t(void *argument);

typedef enum mw_gpc_outcome {
	MW_GPC_STARTED,
	MW_GPC_RUNS_ALREADY,
	MW_GPC_BAD_PATH,    /* errno: why the file cannot be written */
	MW_GPC_SIGNAL_USED, /* the program handles the timer's signal */
	MW_GPC_NO_TIMER,    /* the kernel refused memory or a timer */
} mw_gpc_outcome_t;

/* Starts a profile that goes into the file, which is created at once. `filter` NULL: all threads
 * are counted. */
mw_gpc_outcome_t mw_gpc_start(const char *path, mw_gpc_filter_t *filter, void *filter_argument);
/* Ends the profile, and writes its file. */
void mw_gpc_stop(void);
/* Writes the file as the profile is now. */
void mw_gpc_flush(void);
/* Starts the file <path>.<number>, or stops if a profile runs. Async-signal-safe; does nothing
 * while another call starts or stops. */
void mw_gpc_toggle(const char *path);

typedef struct mw_gpc_state {
	bool enabled;
	time_t start_time;
	char path[1024];
	unsigned long samples;
} mw_gpc_state_t;
void mw_gpc_state(mw_gpc_state_t *state);

/* Which signal and timers mw_gpc_start() uses; written once, before the first start. */
typedef struct mw_gpc_config {
	unsigned frequency_hz;
	bool wall_clock;  /* CPUPROFILE_REALTIME */
	bool per_thread;  /* CPUPROFILE_PER_THREAD_TIMERS */
	int timer_signal; /* 0: SIGPROF, or SIGALRM by the wall clock */
} mw_gpc_config_t;
void mw_gpc_configure(const mw_gpc_config_t *config);
/* Starts the calling thread's timer, if each thread has one. */
void mw_gpc_register_thread(void);

#endif
