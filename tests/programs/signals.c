/* SPDX-License-Identifier: MIT
 * signals.c -- timers that interrupt malloc and free.
 *
 * Handlers that keep to signal-safety(7) must not be noticed: blocks keep their contents while
 * SIGPROF and a timer a thread hammer at every path, samples included.  A handler that allocates
 * although it may not is refused as soon as that shows: the program ends with a message, it neither
 * hangs nor goes on with a broken heap.  So it does when its handler of SIGABRT allocates too. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "programs.h"

/* Blocks of this size come from slices: every malloc and free takes a lock. */
#define LARGE_BYTES 100000
enum { THREADS = 3, SLOTS = 200, WORK_SECONDS = 4, PATIENCE_MS = 20000 };

static _Atomic unsigned long interruptions;
static atomic_bool done;

static double seconds_now(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* What a profiler's handler may do: look, count, write into what it has. */
static void count(int signal_number) {
	(void)signal_number;
	int saved_errno = errno;
	errno = EDOM;
	atomic_fetch_add_explicit(&interruptions, 1, memory_order_relaxed);
	errno = saved_errno;
}

static void handle(int signal_number, void (*handler)(int)) {
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	MUST(sigaction(signal_number, &action, NULL) == 0);
}

/* A prime number of nanoseconds: no step with anything else. */
static void start_thread_timer(timer_t *timer) {
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	struct itimerspec every = {{0, 200003}, {0, 200003}};
	MUST(timer_create(CLOCK_MONOTONIC, &event, timer) == 0);
	MUST(timer_settime(*timer, 0, &every, NULL) == 0);
}

static size_t draw_bytes(unsigned *seed) {
	unsigned r = (unsigned)rand_r(seed);
	switch (r % 16) {
	case 0:
		return r % 200000;
	case 1:
		return r % 6000000;
	default:
		return r % 2000;
	}
}

static void check(const unsigned char *block, size_t bytes) {
	MUST(block[0] == (unsigned char)bytes && block[bytes - 1] == (unsigned char)bytes);
}

static void *work(void *argument) {
	unsigned seed = (unsigned)(size_t)argument;
	unsigned char *blocks[SLOTS] = {NULL};
	size_t bytes[SLOTS] = {0};
	timer_t timer;
	start_thread_timer(&timer);
	while (!atomic_load_explicit(&done, memory_order_relaxed)) {
		unsigned slot = (unsigned)rand_r(&seed) % SLOTS;
		if (blocks[slot])
			check(blocks[slot], bytes[slot]);
		bool resize = blocks[slot] && rand_r(&seed) % 4 == 0;
		errno = 0;
		if (!resize)
			free(blocks[slot]);
		bytes[slot] = draw_bytes(&seed) + 1;
		blocks[slot] = resize ? realloc(blocks[slot], bytes[slot]) : malloc(bytes[slot]);
		MUST(blocks[slot] != NULL && errno == 0);
		blocks[slot][bytes[slot] - 1] = blocks[slot][0] = (unsigned char)bytes[slot];
	}
	timer_delete(timer);
	for (unsigned slot = 0; slot < SLOTS; slot++)
		free(blocks[slot]);
	return NULL;
}

static void test_safe_handlers_go_unnoticed(void) {
	handle(SIGPROF, count);
	handle(SIGUSR1, count);
	struct itimerval every = {{0, 1009}, {0, 1009}}, never = {{0, 0}, {0, 0}};
	MUST(setitimer(ITIMER_PROF, &every, NULL) == 0);
	double until = seconds_now() + WORK_SECONDS;
	while (seconds_now() < until) {
		pthread_t threads[THREADS];
		atomic_store(&done, false);
		for (size_t i = 0; i < THREADS; i++)
			MUST(pthread_create(&threads[i], NULL, work, (void *)(i + 1)) == 0);
		struct timespec nap = {0, 300000000};
		nanosleep(&nap, NULL);
		atomic_store(&done, true);
		for (int i = 0; i < THREADS; i++)
			MUST(pthread_join(threads[i], NULL) == 0);
	}
	MUST(setitimer(ITIMER_PROF, &never, NULL) == 0);
	unsigned long seen = atomic_load(&interruptions);
	MUST(seen > 1000);
	printf("%lu interruptions by handlers that allocate nothing\n", seen);
}

static void allocate(int signal_number) {
	(void)signal_number;
	free(malloc(LARGE_BYTES));
}

_Noreturn static void misbehave(int error_pipe, bool report_crash) {
	MUST(dup2(error_pipe, STDERR_FILENO) >= 0);
	handle(SIGUSR1, allocate);
	if (report_crash)
		handle(SIGABRT, allocate);
	timer_t timer;
	start_thread_timer(&timer);
	for (;;)
		free(malloc(LARGE_BYTES));
}

static void test_allocating_handler_is_refused(bool report_crash) {
	int ends[2];
	MUST(pipe(ends) == 0);
	fflush(stdout);
	pid_t pid = fork();
	MUST(pid >= 0);
	if (pid == 0)
		misbehave(ends[1], report_crash);
	close(ends[1]);
	/* All that writes to it has ended when the pipe does. */
	char text[4096] = "";
	size_t length = 0;
	struct pollfd wait = {.fd = ends[0], .events = POLLIN};
	while (length < sizeof(text) - 1) {
		int ready = poll(&wait, 1, PATIENCE_MS);
		if (ready < 0 && errno == EINTR)
			continue; /* by a sample of CPU time: Linux never restarts poll() */
		if (ready <= 0)
			kill(pid, SIGKILL); /* it hangs: the checks below say so */
		ssize_t got = read(ends[0], text + length, sizeof(text) - 1 - length);
		if (got <= 0)
			break;
		length += (size_t)got;
	}
	close(ends[0]);
	int status;
	MUST(waitpid(pid, &status, 0) == pid);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || !strstr(text, "mallow: "))
		fprintf(stderr, "status %#x: %s", status, text);
	MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	/* Libraries built to check lock ranks say it in their own words. */
	MUST(strstr(text, "signal-safety(7)") || strstr(text, "lock of rank"));
	printf("a handler that allocates was refused%s\n",
	       report_crash ? ", its handler of SIGABRT too" : "");
}

int main(void) {
	must_be_mallow();
	test_safe_handlers_go_unnoticed();
	test_allocating_handler_is_refused(false);
	test_allocating_handler_is_refused(true);
	return 0;
}
