/* SPDX-License-Identifier: MIT
 * cpu_environment.c -- CPUPROFILE and its variables; start and end of the process. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "compat/gperftools/cpu/cpu_profiler.h"
#include "compat/gperftools/variables.h"
#include "os/platform/secure_environment.h"
#include "prof/unwind/unwind.h"

#define FREQUENCY_HZ 100
#define FREQUENCY_MAX_HZ 4000

static char path[PATH_MAX]; /* CPUPROFILE, with the process's id if need be */

static void configure(void) {
	int64_t timer_signal =
		mw_gp_number_from("CPUPROFILE_TIMER_SIGNAL", 0, 1, (int64_t)SIGRTMAX);
	mw_gpc_configure(&(mw_gpc_config_t){
		.frequency_hz = (unsigned)mw_gp_number_from("CPUPROFILE_FREQUENCY", FREQUENCY_HZ, 1,
							    FREQUENCY_MAX_HZ),
		.wall_clock = mw_environment("CPUPROFILE_REALTIME") != NULL,
		.per_thread =
			timer_signal != 0 || mw_environment("CPUPROFILE_PER_THREAD_TIMERS") != NULL,
		.timer_signal = (int)timer_signal,
	});
}

static void on_toggle(int signal_number) {
	(void)signal_number;
	mw_gpc_toggle(path);
}

/* gperftools ends a program whose signal is in use, too: no profile would be written. */
static void use_signal(int signal_number) {
	struct sigaction now, action = {.sa_handler = on_toggle, .sa_flags = SA_RESTART};
	if (sigaction(signal_number, NULL, &now) != 0 || now.sa_handler != SIG_DFL)
		mw_fatal("CPUPROFILESIGNAL: signal %d is in use, or no signal", signal_number);
	sigaction(signal_number, &action, NULL);
	mw_gp_log(0, "Using signal %d as cpu profiling switch", signal_number);
}

static void start(void) {
	switch (mw_gpc_start(path, NULL, NULL)) {
	case MW_GPC_STARTED:
	case MW_GPC_RUNS_ALREADY:
		return;
	case MW_GPC_BAD_PATH:
		mw_warn("Can't turn on cpu profiling for '%.400s': %s", path, strerror(errno));
		return;
	case MW_GPC_SIGNAL_USED:
		mw_warn("CPUPROFILE: the program handles the signal of the timer; use "
			"CPUPROFILE_TIMER_SIGNAL");
		return;
	case MW_GPC_NO_TIMER:
		mw_warn("CPUPROFILE: the kernel refused memory or a timer");
	}
}

__attribute__((constructor)) static void begin(void) {
	mw_unwind_start();
	configure();
	int number = (int)mw_gp_number_from("CPUPROFILESIGNAL", 0, 1, (int64_t)SIGRTMAX);
	if (mw_gp_is_secure()) {
		if (mw_environment_is_set("CPUPROFILE"))
			mw_gp_log(-1, "Cannot perform CPU profiling when running with setuid");
		return;
	}
	if (!mw_gp_path_from("CPUPROFILE", path)) {
		if (number != 0)
			mw_gp_log(-1, "Cpu profiler switch is registered but no CPUPROFILE is "
				      "defined");
		return;
	}
	if (number != 0)
		use_signal(number);
	else
		start();
}

__attribute__((destructor)) static void finish(void) {
	mw_gpc_stop();
}
