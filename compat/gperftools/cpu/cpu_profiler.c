/* SPDX-License-Identifier: MIT
 * cpu_profiler.c -- starts and stops a profile, takes its samples, and ends it when the process
 * forks or dies. */
#include "compat/gperftools/cpu/cpu_profiler.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/fmt.h"
#include "base/put.h"
#include "compat/gperftools/cpu/cpu_file.h"
#include "compat/gperftools/cpu/cpu_stacks.h"
#include "compat/gperftools/cpu/cpu_timers.h"
#include "compat/gperftools/variables.h"
#include "prof/unwind/unwind.h"
#include "state/layout.h"

#define US_PER_SECOND 1000000u
/* Samples that can be taken at the same time. The frames do not lie on the interrupted stack, as an
 * alternate stack may be small. */
#define BUFFERS MW_CLAIMS

/* Signals that end a program by default. */
static const int deadly[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL, SIGABRT, SIGSYS,
			     SIGTRAP, SIGTERM, SIGINT, SIGHUP, SIGQUIT};
#define DEADLY (sizeof deadly / sizeof deadly[0])

static struct {
	_Atomic bool changing; /* a thread starts, stops or writes the profile */
	_Atomic bool running;
	mw_gpc_config_t config;
	pid_t process_id;
	bool is_child; /* of a process that was profiled: without samples there is no file */
	unsigned next_number;
	char path[PATH_MAX];
	time_t start_time;
	mw_gpc_filter_t *filter;
	void *filter_argument;
	_Atomic uint64_t interrupts, lost;
	_Atomic uint64_t busy; /* bit i: frames[i] is in use */
} profiler = {.config = {.frequency_hz = 100}};

/* Apart from `profiler`, whose first values lie in the file. */
static uint64_t frames[BUFFERS][MW_GPC_DEPTH_MAX];

/* ---- samples ---- */

static void on_sample(const void *context, uint64_t samples) {
	if (profiler.filter && !profiler.filter(profiler.filter_argument))
		return;
	atomic_fetch_add_explicit(&profiler.interrupts, samples, memory_order_relaxed);
	unsigned number = mw_claim(&profiler.busy);
	bool counted = false;
	if (number < BUFFERS) {
		uint64_t *pcs = frames[number];
		unsigned depth =
			mw_unwind_capture_interrupted(context, pcs, NULL, MW_GPC_DEPTH_MAX).depth;
		for (unsigned i = 0; i < depth; i++)
			pcs[i] &= ~MW_FRAME_EXACT;
		counted = mw_gpc_stacks_add(pcs, depth, samples);
		mw_unclaim(&profiler.busy, number);
	}
	if (!counted)
		atomic_fetch_add_explicit(&profiler.lost, samples, memory_order_relaxed);
}

/* ---- the file ---- */

static bool create_file(const char *path) {
	int file = mw_put_open(path, false, 0666);
	if (file >= 0)
		close(file);
	return file >= 0;
}

/* Absolute, as the program may change its directory. */
static bool keep_path(const char *path) {
	char folder[PATH_MAX] = "";
	if (path[0] != '/' && !getcwd(folder, sizeof folder))
		return false;
	size_t length = mw_fmt(profiler.path, sizeof profiler.path, "%s%s%s", folder,
			       path[0] == '/' ? "" : "/", path);
	if (length < sizeof profiler.path)
		return create_file(profiler.path);
	errno = ENAMETOOLONG;
	return false;
}

static size_t write_file(void) {
	if (profiler.is_child && profiler.interrupts == 0)
		return 0;
	return mw_gpc_file_write(profiler.path, US_PER_SECOND / profiler.config.frequency_hz);
}

/* ---- deadly signals ---- */

static void on_deadly(int signal_number, siginfo_t *info, void *context) {
	(void)context;
	static _Atomic bool is_dying;
	int saved_errno = errno;
	if (!atomic_exchange(&is_dying, true) && profiler.running &&
	    profiler.process_id == getpid())
		write_file();
	/* SA_RESETHAND: an instruction at fault runs again, and ends the program. */
	if (info->si_code <= 0)
		kill(getpid(), signal_number);
	errno = saved_errno;
}

static void catch_deadly(void) {
	struct sigaction now, action = {.sa_sigaction = on_deadly,
					.sa_flags = SA_SIGINFO | SA_ONSTACK | (int)SA_RESETHAND};
	for (size_t i = 0; i < DEADLY; i++)
		if (sigaction(deadly[i], NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
		    now.sa_handler == SIG_DFL)
			sigaction(deadly[i], &action, NULL);
}

static void leave_deadly(void) {
	struct sigaction now, action = {.sa_handler = SIG_DFL};
	for (size_t i = 0; i < DEADLY; i++)
		if (sigaction(deadly[i], NULL, &now) == 0 && now.sa_sigaction == on_deadly)
			sigaction(deadly[i], &action, NULL);
}

/* ---- start and stop; called by the thread that set `changing` ---- */

static mw_gpc_outcome_t start_samples(void) {
	profiler.interrupts = profiler.lost = 0;
	profiler.start_time = time(NULL);
	profiler.process_id = getpid();
	if (!mw_gpc_stacks_start())
		return MW_GPC_NO_TIMER;
	mw_gpc_outcome_t outcome = mw_gpc_timers_start(&profiler.config, on_sample);
	if (outcome != MW_GPC_STARTED)
		return outcome;
	profiler.running = true;
	catch_deadly();
	return MW_GPC_STARTED;
}

static mw_gpc_outcome_t start(const char *path, mw_gpc_filter_t *filter, void *argument) {
	if (profiler.running)
		return MW_GPC_RUNS_ALREADY;
	if (!keep_path(path))
		return MW_GPC_BAD_PATH;
	profiler.filter = filter;
	profiler.filter_argument = argument;
	profiler.is_child = false;
	return start_samples();
}

static void stop(void) {
	if (!profiler.running)
		return;
	mw_gpc_timers_stop(&profiler.config);
	leave_deadly();
	profiler.running = false;
	size_t bytes = write_file();
	if (bytes == 0 && !profiler.is_child)
		mw_gp_log(-2, "Cannot write the CPU profile %.400s", profiler.path);
	else if (bytes > 0)
		mw_gp_log(0, "PROFILE: interrupts/evictions/bytes = %ld/%ld/%zu",
			  (long)profiler.interrupts, (long)profiler.lost, bytes);
}

static bool try_change(void) {
	return !atomic_exchange_explicit(&profiler.changing, true, memory_order_acquire);
}

static void begin_change(void) {
	while (!try_change())
		sched_yield();
}

static void end_change(void) {
	atomic_store_explicit(&profiler.changing, false, memory_order_release);
}

/* ---- interface ---- */

void mw_gpc_configure(const mw_gpc_config_t *config) {
	profiler.config = *config;
}

mw_gpc_outcome_t mw_gpc_start(const char *path, mw_gpc_filter_t *filter, void *filter_argument) {
	begin_change();
	mw_gpc_outcome_t outcome = start(path, filter, filter_argument);
	end_change();
	return outcome;
}

void mw_gpc_stop(void) {
	begin_change();
	/* A child that was forked without the handlers below does not write its parent's file. */
	if (profiler.process_id == getpid())
		stop();
	end_change();
}

void mw_gpc_flush(void) {
	begin_change();
	if (profiler.running)
		write_file();
	end_change();
}

void mw_gpc_toggle(const char *path) {
	int saved_errno = errno;
	if (!try_change())
		return;
	if (profiler.running) {
		stop();
	} else {
		char numbered[PATH_MAX];
		if (mw_fmt(numbered, sizeof numbered, "%s.%u", path, profiler.next_number++) <
		    sizeof numbered)
			start(numbered, NULL, NULL);
	}
	end_change();
	errno = saved_errno;
}

void mw_gpc_state(mw_gpc_state_t *state) {
	begin_change();
	state->enabled = profiler.running;
	state->start_time = profiler.running ? profiler.start_time : 0;
	state->samples = profiler.running ? profiler.interrupts : 0;
	mw_fmt(state->path, sizeof state->path, "%s", profiler.running ? profiler.path : "");
	end_change();
}

void mw_gpc_register_thread(void) {
	begin_change();
	if (profiler.running)
		mw_gpc_timers_add_thread(&profiler.config);
	end_change();
}

/* ---- fork ---- */

/* A timer of the process would survive an exec of the child, and its signal would end the next
 * program: the child has a timer for each thread. */
static void in_child(void) {
	profiler.busy = 0;
	if (profiler.running) {
		mw_gpc_timers_forked(&profiler.config);
		profiler.running = false;
		profiler.config.per_thread = true;
		profiler.is_child = true;
		mw_gp_path_of_child(profiler.path);
		start_samples();
	}
	end_change();
}

__attribute__((constructor)) static void follow_forks(void) {
	pthread_atfork(begin_change, end_change, in_child);
}
