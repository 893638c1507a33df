/* SPDX-License-Identifier: MIT
 * test_cpu.c -- samples of CPU time: on, off, rates, threads, forks, resets, refusals, stacks. */
#include "cpu/cpu.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "config/option_row.h"
#include "cpu/thread_timers.h"
#include "prof/control/control.h"
#include "prof/unwind/unwind.h"
#include "prof_fixture.h"
#include "test.h"

#define NS_PER_MS 1000000u

static uint64_t clock_ns(clockid_t clock) {
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Uses `ms` of the thread's CPU time. */
static __attribute__((noinline)) void burn(unsigned ms) {
	uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + (uint64_t)ms * NS_PER_MS;
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
	}
	__asm__ volatile("");
}

static mw_state_live_t *live_of(char *base) {
	return section_of(base, MW_SECTION_LIVE);
}

static void check_between(uint64_t value, uint64_t low, uint64_t high) {
	if (value >= low && value <= high)
		return;
	fprintf(stderr, "%llu is not between %llu and %llu\n", (unsigned long long)value,
		(unsigned long long)low, (unsigned long long)high);
	exit(1);
}

/* When samples began, by two clocks. */
typedef struct span {
	clockid_t clock;       /* at least its time is counted */
	uint64_t begin_ns;     /* when the samples certainly ran */
	clockid_t limit_clock; /* at most its time is counted */
	uint64_t before_ns;    /* before the samples began */
} span_t;

/* Waits until `counted` of the state is what the clock has moved, less 15 ms at most: the kernel
 * looks at a thread's timers at its ticks (10 ms apart at the most) while the thread runs, which a
 * thread on a shared processor often does not. More than the other clock has moved is never
 * counted, but for a period of the timer. */
static void await_count(const _Atomic uint64_t *cpu_ns, uint64_t former_ns, span_t span) {
	uint64_t counted = 0, least = 0, most = 0;
	for (int i = 0; i < 20000; i++) {
		/* The clock is read before and after: a sample may come in between. */
		least = clock_ns(span.clock) - span.begin_ns;
		counted = *cpu_ns - former_ns;
		most = clock_ns(span.limit_clock) - span.before_ns + 5 * NS_PER_MS;
		if (counted + 15 * NS_PER_MS >= least || counted > most)
			break;
		burn(1);
		usleep(100);
	}
	check_between(counted, least - 15 * NS_PER_MS, most);
}

/* Starts samples of CPU time. */
static span_t start_samples(int hz, uint32_t event, clockid_t clock) {
	span_t span = {.clock = clock, .limit_clock = clock, .before_ns = clock_ns(clock)};
	mw_cpu_start(hz, event);
	span.begin_ns = clock_ns(clock);
	return span;
}

/* The sums over the entries equal those of the live section, in both copies. */
static void check_sums(char *base) {
	uint64_t samples = 0, cpu_ns = 0;
	for (uint64_t i = 1; i < live_of(base)->cpu_used; i++) {
		const mw_state_cpu_t *entry = entry_of(base, MW_SECTION_CPU, i);
		CHECK(entry->stack < live_of(base)->stacks_used);
		samples += entry->samples;
		cpu_ns += entry->time_ns;
	}
	CHECK_EQ(samples, live_of(base)->cpu_samples);
	CHECK_EQ(cpu_ns, live_of(base)->cpu_ns + live_of(base)->wall_ns);
}

static uint64_t sum_of_state(char *base, mw_cpu_state_t state) {
	uint64_t sum = 0;
	for (uint64_t i = 1; i < live_of(base)->cpu_used; i++) {
		const mw_state_cpu_t *entry = entry_of(base, MW_SECTION_CPU, i);
		CHECK(entry->state < MW_CPU_STATES);
		sum += entry->state == state ? entry->time_ns : 0;
	}
	return sum;
}

static void time_is_counted(void) {
	start(524288, 0, false);
	char *file = map_state_of(getpid());
	CHECK_EQ(live_of(file)->cpu_used, 0);
	span_t span = start_samples(1000, MW_CPU_BY_TIMER, CLOCK_THREAD_CPUTIME_ID);
	CHECK_EQ(live_of(file)->cpu_hz, 1000);
	CHECK_EQ(live_of(file)->cpu_error, MW_CPU_FINE);
	CHECK(live_of(file)->cpu_signal >= (uint32_t)SIGRTMIN);
	errno = 4711;
	burn(400);
	CHECK_EQ(errno, 4711);
	await_count(&live_of(file)->cpu_ns, 0, span);
	mw_cpu_start(0, MW_CPU_BY_TIMER);
	CHECK_EQ(live_of(file)->cpu_hz, 0);
	CHECK_EQ(live_of(file)->cpu_signal, 0);
	check_sums(file);
	check_sums(store_base());
	uint64_t before = live_of(file)->cpu_ns;
	burn(50);
	CHECK_EQ(live_of(file)->cpu_ns, before);
	/* Another rate adds to what is there. */
	span = start_samples(100, MW_CPU_BY_TIMER, CLOCK_THREAD_CPUTIME_ID);
	mw_cpu_start(500, MW_CPU_BY_TIMER);
	span.begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	CHECK_EQ(live_of(file)->cpu_hz, 500);
	burn(200);
	await_count(&live_of(file)->cpu_ns, before, span);
	mw_cpu_start(0, MW_CPU_BY_TIMER);
	mw_control_reset();
	CHECK_EQ(live_of(file)->cpu_ns, 0);
	check_sums(file);
	/* Also while it samples: what comes later was used since the last sample before. */
	span = start_samples(500, MW_CPU_BY_TIMER, CLOCK_THREAD_CPUTIME_ID);
	burn(200);
	await_count(&live_of(file)->cpu_ns, 0, span);
	before = live_of(file)->cpu_ns;
	mw_control_reset();
	uint64_t after = live_of(file)->cpu_ns;
	check_between(after, 0,
		      clock_ns(span.limit_clock) - span.before_ns + 5 * NS_PER_MS - before);
	mw_cpu_start(0, MW_CPU_BY_TIMER);
	check_sums(file);
}

/* By wall-clock time a thread that waits is sampled, too; system calls go on. */
static void time_of_waiting_is_counted(void) {
	start(524288, 0, false);
	char *file = map_state_of(getpid());
	int ends[2];
	CHECK_EQ(pipe(ends), 0);
	mw_cpu_start(-1000, MW_CPU_BY_TIMER);
	CHECK_EQ(live_of(file)->cpu_hz, 1000 | MW_CPU_WALL);
	pid_t child = fork();
	if (child == 0) {
		usleep(300000);
		CHECK_EQ(write(ends[1], "x", 1), 1);
		_exit(0);
	}
	char byte;
	CHECK_EQ(read(ends[0], &byte, 1), 1); /* not EINTR */
	/* On a busy machine it came late to its call, and not all that follows is seen as running.
	 */
	CHECK(sum_of_state(file, MW_CPU_WAITING) > 100 * NS_PER_MS);
	for (int i = 0; i < 20000 && sum_of_state(file, MW_CPU_RUNNING) < 30 * NS_PER_MS; i++)
		burn(1);
	mw_cpu_start(0, MW_CPU_BY_TIMER);
	CHECK(sum_of_state(file, MW_CPU_RUNNING) >= 30 * NS_PER_MS);
	CHECK_EQ(sum_of_state(file, MW_CPU_USED), 0);
	CHECK_EQ(live_of(file)->cpu_ns, 0);
	check_sums(file);
}

/* ---- threads ---- */

static _Atomic bool has_burnt;
static _Atomic bool may_end;
static _Atomic bool goes_on; /* a thread that has burnt its time goes on, slowly */

static void *burn_in_thread(void *knows_heap) {
	if (knows_heap)
		mw_cpu_thread_start();
	burn(200);
	has_burnt = true;
	while (!may_end) {
		if (goes_on)
			burn(1);
		usleep(1000);
	}
	if (knows_heap)
		mw_cpu_thread_end();
	return NULL;
}

static uint64_t time_of_thread(char *base, uint32_t thread_id) {
	uint64_t cpu_ns = 0;
	for (uint64_t i = 1; i < live_of(base)->cpu_used; i++) {
		const mw_state_cpu_t *entry = entry_of(base, MW_SECTION_CPU, i);
		cpu_ns += entry->thread_id == thread_id ? entry->time_ns : 0;
	}
	return cpu_ns;
}

/* A thread that begins after the start, with a heap or without, counts from its beginning. */
static void threads_are_found(void) {
	start(524288, 0, false);
	char *file = map_state_of(getpid());
	mw_cpu_start(1000, MW_CPU_BY_TIMER);
	goes_on = true;
	for (int knows_heap = 0; knows_heap < 2; knows_heap++) {
		pthread_t id;
		may_end = has_burnt = false;
		uint64_t before = live_of(file)->cpu_ns, self = (uint64_t)gettid();
		uint64_t own = time_of_thread(file, (uint32_t)self);
		CHECK_EQ(pthread_create(&id, NULL, burn_in_thread, knows_heap ? &id : NULL), 0);
		while (live_of(file)->cpu_threads < 2)
			burn(1);
		while (!has_burnt)
			usleep(1000);
		clockid_t clock;
		CHECK_EQ(pthread_getcpuclockid(id, &clock), 0);
		uint64_t others = 0, used = 0;
		for (int i = 0; i < 5000; i++) {
			used = clock_ns(clock);
			others = live_of(file)->cpu_ns - before -
				 (time_of_thread(file, (uint32_t)self) - own);
			if (others + 15 * NS_PER_MS >= used)
				break;
			usleep(1000);
		}
		check_between(others, used - 15 * NS_PER_MS, clock_ns(clock) + 5 * NS_PER_MS);
		may_end = true;
		pthread_join(id, NULL);
		/* The next scan takes it out of the table. */
		while (live_of(file)->cpu_threads > 1)
			burn(10);
	}
	mw_cpu_start(0, MW_CPU_BY_TIMER);
	check_sums(file);
}

/* What a thread used before the start does not count. */
static void former_time_does_not_count(void) {
	pthread_t id;
	start(524288, 0, false);
	char *file = map_state_of(getpid());
	CHECK_EQ(pthread_create(&id, NULL, burn_in_thread, NULL), 0);
	while (!has_burnt)
		usleep(1000);
	/* The other thread goes on, and uses little. */
	span_t span = start_samples(1000, MW_CPU_BY_TIMER, CLOCK_PROCESS_CPUTIME_ID);
	burn(50);
	await_count(&live_of(file)->cpu_ns, 0, span);
	mw_cpu_start(0, MW_CPU_BY_TIMER);
	may_end = true;
	pthread_join(id, NULL);
}

/* ---- the program's signals ---- */

static void programs_own(int number) {
	(void)number;
}

static void used_signals_are_left_alone(void) {
	start(524288, 0, false);
	struct sigaction before, after;
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
		if (number != SIGRTMIN + 3)
			signal(number, number % 2 ? programs_own : SIG_IGN);
	mw_cpu_start(1000, MW_CPU_BY_TIMER);
	CHECK_EQ(mw_store_live()->cpu_signal, (uint32_t)SIGRTMIN + 3);
	mw_cpu_start(0, MW_CPU_BY_TIMER);
	CHECK_EQ(sigaction(SIGRTMIN + 3, NULL, &after), 0);
	CHECK(after.sa_handler == SIG_DFL);
	/* A free one that the first thread blocks, and another one. */
	sigset_t blocked;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGRTMIN + 5);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	signal(SIGRTMIN + 5, SIG_DFL);
	mw_cpu_start(1000, MW_CPU_BY_TIMER);
	CHECK_EQ(mw_store_live()->cpu_signal, (uint32_t)SIGRTMIN + 3);
	mw_cpu_start(0, MW_CPU_BY_TIMER);
	/* The blocked one alone; those that stand in for it are used, too. */
	signal(SIGURG, programs_own);
	signal(SIGWINCH, programs_own);
	signal(SIGRTMIN + 3, SIG_IGN);
	mw_cpu_start(1000, MW_CPU_BY_TIMER);
	CHECK_EQ(mw_store_live()->cpu_signal, (uint32_t)SIGRTMIN + 5);
	mw_cpu_start(0, MW_CPU_BY_TIMER);
	signal(SIGRTMIN + 5, SIG_IGN);
	/* None is free. */
	signal(SIGRTMIN + 3, programs_own);
	CHECK_EQ(sigaction(SIGRTMIN + 3, NULL, &before), 0);
	mw_cpu_start(1000, MW_CPU_BY_TIMER);
	CHECK_EQ(mw_store_live()->cpu_hz, 0);
	CHECK_EQ(mw_store_live()->cpu_error, MW_CPU_NO_SIGNAL);
	CHECK_EQ(sigaction(SIGRTMIN + 3, NULL, &after), 0);
	CHECK(after.sa_handler == before.sa_handler);
}

static void refused_timers_are_reported(void) {
	start(524288, 0, false);
	const struct rlimit none = {0, 0};
	CHECK_EQ(setrlimit(RLIMIT_SIGPENDING, &none), 0);
	mw_cpu_start(100, MW_CPU_BY_TIMER);
	CHECK_EQ(mw_store_live()->cpu_hz, 0);
	CHECK_EQ(mw_store_live()->cpu_error, MW_CPU_NO_TIMER);
	burn(20);
}

/* A signal that no timer sent is no sample. */
static void others_signals_are_ignored(void) {
	start(524288, 0, false);
	mw_cpu_start(1, MW_CPU_BY_TIMER);
	union sigval value = {.sival_int = (int)gettid()};
	for (int i = 0; i < 100; i++)
		CHECK_EQ(sigqueue(getpid(), (int)mw_store_live()->cpu_signal, value), 0);
	check_between(mw_store_live()->cpu_samples, 0, 1);
}

/* ---- events ---- */

/* Returns false where the kernel permits no events. */
static bool events_begin(uint32_t event) {
	mw_cpu_start(1000, event);
	if (mw_store_live()->cpu_error == MW_CPU_FORBIDDEN ||
	    mw_store_live()->cpu_error == MW_CPU_NO_EVENT) {
		CHECK_EQ(mw_store_live()->cpu_hz, 0);
		fprintf(stderr, "left out: perf_event_open(2) is not permitted\n");
		return false;
	}
	CHECK_EQ(mw_store_live()->cpu_hz, 1000 | event << MW_CPU_EVENT_SHIFT);
	return true;
}

static uint64_t faults_so_far(void) {
	struct rusage usage;
	CHECK_EQ(getrusage(RUSAGE_SELF, &usage), 0);
	return (uint64_t)usage.ru_minflt;
}

/* Those behind a thread's last sample are not counted: one interval, which the kernel chose, of
 * some thousands at times. */
#define PAGES 20000u
#define FAULTS (10 * PAGES)

static void *touch(void *unused) {
	char *memory = mmap(NULL, PAGES * 4096u, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	madvise(memory, PAGES * 4096u, MADV_NOHUGEPAGE);
	for (unsigned i = 0; i < FAULTS; i++) {
		if (i % PAGES == 0)
			CHECK_EQ(madvise(memory, PAGES * 4096u, MADV_DONTNEED), 0);
		memory[i % PAGES * 4096u] = 1;
	}
	CHECK_EQ(munmap(memory, PAGES * 4096u), 0);
	return unused;
}

/* Page faults of threads that exist at the start, as many as the kernel says: all since the events
 * began, and those that a signal interrupted once more, which getrusage() counts when they are
 * over. */
static void events_are_counted(void) {
	start(524288, 0, false);
	char *file = map_state_of(getpid());
	uint64_t before = faults_so_far();
	if (!events_begin(MW_CPU_PAGE_FAULTS))
		return;
	const mw_cpu_state_t state = mw_cpu_state_of_event(MW_CPU_PAGE_FAULTS);
	touch(NULL);
	mw_cpu_start(0, MW_CPU_BY_TIMER);
	uint64_t counted = sum_of_state(file, state);
	check_between(counted, FAULTS * 9 / 10, faults_so_far() - before + FAULTS / 100);
	CHECK_EQ(sum_of_state(file, MW_CPU_USED), 0);
	CHECK_EQ(live_of(file)->cpu_ns, 0);
	touch(NULL);
	CHECK_EQ(sum_of_state(file, state), counted);
	/* Those of a second time begin at 0 again; a child has none. */
	CHECK(events_begin(MW_CPU_PAGE_FAULTS));
	mw_prof_fork_prepare();
	pid_t child = fork();
	if (child == 0) {
		mw_prof_fork_child();
		touch(NULL);
		CHECK_EQ(mw_store_live()->cpu_samples, 0);
		_exit(0);
	}
	mw_prof_fork_parent();
	int status;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	touch(NULL);
	mw_cpu_start(0, MW_CPU_BY_TIMER);
	check_between(sum_of_state(file, state) - counted, FAULTS * 9 / 10, FAULTS * 11 / 10);
}

/* The CPU clock as an event is CPU time, also of a thread that begins later. */
static void event_of_time_is_counted(void) {
	start(524288, 0, false);
	char *file = map_state_of(getpid());
	/* This event also counts time that a virtual machine's host or an interrupt took. */
	span_t span = {.clock = CLOCK_THREAD_CPUTIME_ID,
		       .limit_clock = CLOCK_MONOTONIC,
		       .before_ns = clock_ns(CLOCK_MONOTONIC)};
	if (!events_begin(MW_CPU_CPU_CLOCK))
		return;
	span.begin_ns = clock_ns(span.clock);
	burn(200);
	await_count(&live_of(file)->cpu_ns, 0, span);
	mw_cpu_start(0, MW_CPU_BY_TIMER);
	check_sums(file);
	/* Threads that sample while the events are switched off and on. */
	pthread_t ids[2];
	goes_on = true;
	may_end = false;
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&ids[i], NULL, burn_in_thread, file), 0);
	for (int i = 0; i < 300; i++) {
		mw_cpu_start(10000, i % 3 == 0 ? MW_CPU_PAGE_FAULTS : MW_CPU_CPU_CLOCK);
		CHECK_EQ(mw_store_live()->cpu_error & ~(uint32_t)MW_CPU_USER_ONLY, MW_CPU_FINE);
		usleep(500);
		mw_cpu_start(0, MW_CPU_BY_TIMER);
	}
	may_end = true;
	for (int i = 0; i < 2; i++)
		pthread_join(ids[i], NULL);
	CHECK(live_of(file)->cpu_samples > 0);
}

static void refused_events_are_said(void) {
	start(524288, 0, false);
	if (!events_begin(MW_CPU_CPU_CLOCK))
		return;
	mw_cpu_start(0, MW_CPU_BY_TIMER);
	struct rlimit usual;
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
	const struct rlimit none = {0, usual.rlim_max};
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	mw_cpu_start(1000, MW_CPU_CPU_CLOCK);
	CHECK_EQ(mw_store_live()->cpu_hz, 0);
	CHECK_EQ(mw_store_live()->cpu_error, MW_CPU_NO_TIMER);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
}

/* The option's words are those of mw_cpu_event_t. */
static void events_have_names(void) {
	static const char *const names[MW_CPU_EVENTS] = {"timer",
#define EVENT(name, text, unit) text,
							 MW_CPU_EVENT_LIST(EVENT)
#undef EVENT
	};
	const mw_option_t *option = mw_option_table;
	while (strcmp(option->name, "prof_cpu_event") != 0)
		option++;
	const char *cursor = option->unit;
	for (unsigned i = 0; i < MW_CPU_EVENTS; i++)
		CHECK(mw_text_is(mw_option_next_word(&cursor), names[i]));
	CHECK_EQ(mw_option_next_word(&cursor).length, 0);
	CHECK_EQ(option->max, MW_CPU_EVENTS - 1);
}

/* ---- fork ---- */

static void child_has_no_timers(void) {
	start(524288, 0, false);
	char *file = map_state_of(getpid());
	mw_cpu_start(1000, MW_CPU_BY_TIMER);
	burn(100);
	mw_prof_fork_prepare();
	pid_t child = fork();
	if (child == 0) {
		mw_prof_fork_child();
		CHECK_EQ(mw_store_live()->cpu_hz, 0);
		CHECK_EQ(mw_store_live()->cpu_samples, 0);
		burn(100);
		CHECK_EQ(mw_store_live()->cpu_samples, 0);
		/* A child may be sampled by itself. */
		span_t span = start_samples(1000, MW_CPU_BY_TIMER, CLOCK_THREAD_CPUTIME_ID);
		burn(100);
		await_count(&mw_store_live()->cpu_ns, 0, span);
		check_sums(store_base());
		_exit(0);
	}
	mw_prof_fork_parent();
	int status;
	mw_cpu_start(0, MW_CPU_BY_TIMER);
	uint64_t before = live_of(file)->cpu_ns;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK_EQ(live_of(file)->cpu_ns, before);
	check_sums(file);
}

/* ---- stacks ---- */

#define DEPTH 64
static uint64_t from_context[DEPTH], from_handler[DEPTH], few[4];
static mw_unwind_result_t by_context, by_handler, by_few;

static void on_signal(int number, siginfo_t *info, void *context) {
	(void)number;
	(void)info;
	by_context = mw_unwind_capture_interrupted(context, from_context, NULL, DEPTH);
	by_handler = mw_unwind_capture(from_handler, DEPTH);
	by_few = mw_unwind_capture_interrupted(context, few, NULL, 4);
}

static __attribute__((noinline)) void raise_deep(unsigned depth) {
	if (depth == 0)
		raise(SIGUSR1);
	else
		raise_deep(depth - 1);
	__asm__ volatile("");
}

/* Two ways to the same frames: from the registers, and through the handler's own frames. */
static void stack_is_the_interrupted_one(void) {
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	sigaction(SIGUSR1, &action, NULL);
	mw_unwind_start();
	char alternate[65536];
	for (int kind = 0; kind < 2; kind++) {
		stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
		if (kind == 1)
			CHECK_EQ(sigaltstack(&stack, NULL), 0);
		raise_deep(12);
		CHECK(by_context.depth > 13);
		CHECK(!by_context.truncated && !by_handler.truncated);
		unsigned first = 0;
		while (first < by_handler.depth && !(from_handler[first] & MW_FRAME_EXACT))
			first++;
		CHECK_EQ(by_handler.depth - first, by_context.depth);
		CHECK(memcmp(from_handler + first, from_context,
			     by_context.depth * sizeof(uint64_t)) == 0);
		/* An array that is too small has the innermost frames. */
		CHECK(by_few.depth == 4 && by_few.truncated);
		CHECK(memcmp(few, from_context, sizeof few) == 0);
	}
}

int main(void) {
	RUN_IN_CHILD(time_is_counted);
	RUN_IN_CHILD(time_of_waiting_is_counted);
	RUN_IN_CHILD(threads_are_found);
	RUN_IN_CHILD(former_time_does_not_count);
	RUN_IN_CHILD(used_signals_are_left_alone);
	RUN_IN_CHILD(refused_timers_are_reported);
	RUN_IN_CHILD(others_signals_are_ignored);
	RUN_IN_CHILD(events_are_counted);
	RUN_IN_CHILD(event_of_time_is_counted);
	RUN_IN_CHILD(refused_events_are_said);
	RUN_IN_CHILD(events_have_names);
	RUN_IN_CHILD(child_has_no_timers);
	RUN_IN_CHILD(stack_is_the_interrupted_one);
	return 0;
}
