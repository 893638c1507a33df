/* SPDX-License-Identifier: MIT
 * cpu_timers.c -- setitimer(2) for the process, or a POSIX timer for each thread. */
#include "compat/gperftools/cpu/cpu_timers.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

#include "base/error.h"
#include "cpu/thread_timers.h"
#include "os/file/proc.h"
#include "os/time/cpu_timer.h"

#define US_PER_SECOND 1000000u
#define NS_PER_SECOND UINT64_C(1000000000)
/* A handler takes some microseconds; one that a debugger holds is not waited for. */
#define WAIT_TURNS 100000u

static struct {
	_Atomic(mw_gpc_on_sample_t *) on_sample; /* NULL: signals are ignored */
	_Atomic unsigned running;                /* handlers */
	/* The process's timer. */
	clockid_t clock;
	uint64_t period_ns;
	_Atomic uint64_t counted_ns; /* time on the clock that samples so far stand for */
} timers;

int mw_gpc_timers_signal(const mw_gpc_config_t *config) {
	if (config->timer_signal)
		return config->timer_signal;
	return config->wall_clock && !config->per_thread ? SIGALRM : SIGPROF;
}

static uint64_t read_clock(clockid_t clock) {
	struct timespec now = {0};
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* Returns the periods that have ended since the last signal of the process's timer. Most kernels
 * look at it 250 or 1000 times a second, and do not say how many. 0: the timer counts in ticks,
 * which were more than the time that was used. */
static uint64_t periods_since_last(void) {
	uint64_t now_ns = read_clock(timers.clock), periods;
	uint64_t counted_ns = atomic_load_explicit(&timers.counted_ns, memory_order_relaxed);
	do {
		periods = now_ns > counted_ns ? (now_ns - counted_ns) / timers.period_ns : 0;
	} while (!atomic_compare_exchange_weak_explicit(
		&timers.counted_ns, &counted_ns, counted_ns + periods * timers.period_ns,
		memory_order_relaxed, memory_order_relaxed));
	return periods;
}

static void handle(int signal_number, siginfo_t *info, void *context) {
	(void)signal_number;
	int saved_errno = errno;
	/* Sequentially consistent: mw_gpc_timers_stop() clears on_sample, then reads `running`. */
	atomic_fetch_add(&timers.running, 1);
	mw_gpc_on_sample_t *on_sample = atomic_load(&timers.on_sample);
	uint64_t periods = info->si_code == SI_KERNEL ? periods_since_last() : 0;
	if (on_sample && periods > 0) /* setitimer(2) */
		on_sample(context, periods);
	else if (on_sample && info->si_code == SI_TIMER && info->si_value.sival_int == 0)
		mw_thread_timers_scan();
	else if (on_sample && info->si_code == SI_TIMER)
		on_sample(context, 1 + (uint64_t)info->si_overrun);
	atomic_fetch_sub(&timers.running, 1);
	errno = saved_errno;
}

static bool is_free(int signal_number) {
	struct sigaction now;
	return sigaction(signal_number, NULL, &now) == 0 && ((now.sa_flags & SA_SIGINFO) == 0) &&
	       (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN);
}

static void ignore_changes(uint32_t threads, uint32_t refused) {
	(void)threads;
	(void)refused;
}

/* libc declares the first parameter of setitimer() as an enum or as an int. */
static bool set_process_timer(const mw_gpc_config_t *config, const struct itimerval *times) {
	return config->wall_clock ? setitimer(ITIMER_REAL, times, NULL) == 0
				  : setitimer(ITIMER_PROF, times, NULL) == 0;
}

static bool start_process_timer(const mw_gpc_config_t *config) {
	timers.clock = config->wall_clock ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
	timers.period_ns = NS_PER_SECOND / config->frequency_hz;
	timers.counted_ns = read_clock(timers.clock);
	struct timeval period = {.tv_usec = US_PER_SECOND / config->frequency_hz};
	if (config->frequency_hz == 1)
		period = (struct timeval){.tv_sec = 1};
	const struct itimerval times = {period, period};
	return set_process_timer(config, &times);
}

static bool start_timers(const mw_gpc_config_t *config) {
	if (!config->per_thread)
		return start_process_timer(config);
	const mw_thread_timers_config_t threads = {
		.signal_number = mw_gpc_timers_signal(config),
		.scan_signal = mw_gpc_timers_signal(config),
		.clock = config->wall_clock ? MW_OS_CLOCK_WALL : MW_OS_CLOCK_CPU,
		.period_ns = NS_PER_SECOND / config->frequency_hz,
		.changed = ignore_changes,
	};
	return mw_thread_timers_start(&threads, MW_CPU_IN_CALL) == MW_OK;
}

mw_gpc_outcome_t mw_gpc_timers_start(const mw_gpc_config_t *config, mw_gpc_on_sample_t *on_sample) {
	int signal_number = mw_gpc_timers_signal(config);
	if (!is_free(signal_number))
		return MW_GPC_SIGNAL_USED;
	struct sigaction action = {.sa_sigaction = handle,
				   .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	sigfillset(&action.sa_mask);
	atomic_store(&timers.on_sample, on_sample);
	if (sigaction(signal_number, &action, NULL) == 0 && start_timers(config))
		return MW_GPC_STARTED;
	mw_gpc_timers_stop(config);
	return MW_GPC_NO_TIMER;
}

void mw_gpc_timers_add_thread(const mw_gpc_config_t *config) {
	if (config->per_thread)
		mw_thread_timers_add(mw_os_thread_id());
}

static void leave_signal(const mw_gpc_config_t *config) {
	struct sigaction now, action = {.sa_handler = SIG_IGN};
	int signal_number = mw_gpc_timers_signal(config);
	if (sigaction(signal_number, NULL, &now) != 0 || now.sa_sigaction != handle)
		return;                          /* the program has installed a handler meanwhile */
	sigaction(signal_number, &action, NULL); /* discards pending signals */
	action.sa_handler = SIG_DFL;
	sigaction(signal_number, &action, NULL);
}

void mw_gpc_timers_stop(const mw_gpc_config_t *config) {
	atomic_store(&timers.on_sample, NULL);
	if (config->per_thread) {
		mw_thread_timers_stop(MW_CPU_IN_CALL);
	} else {
		const struct itimerval none = {{0}, {0}};
		set_process_timer(config, &none);
	}
	leave_signal(config);
	for (unsigned i = 0; i < WAIT_TURNS && atomic_load(&timers.running) != 0; i++)
		sched_yield();
}

void mw_gpc_timers_forked(const mw_gpc_config_t *config) {
	atomic_store(&timers.on_sample, NULL);
	atomic_store(&timers.running, 0);
	mw_thread_timers_forked();
	leave_signal(config);
}
