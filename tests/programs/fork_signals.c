/* SPDX-License-Identifier: MIT
 * fork_signals.c -- fork() in a signal handler that interrupts malloc, free, realloc or fork.
 *
 * signal-safety(7) lists fork: such a program may not hang.  With one thread the child goes on with
 * what was interrupted and allocates; with several it may only leave. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "programs.h"

enum { SLOTS = 300, CHILD_TURNS = 400, PATIENCE_LOOKS = 100000 };

static volatile sig_atomic_t forks, wanted_forks, stray;
static bool has_threads;
static pid_t starter;

/* True: the child ended well, in time. */
static bool has_ended_well(pid_t child) {
	int status = -1;
	for (int looks = 0; looks < PATIENCE_LOOKS; looks++) {
		pid_t ended = waitpid(child, &status, WNOHANG);
		if (ended == child)
			return WIFEXITED(status) && WEXITSTATUS(status) == 0;
		/* This process came out of a handler that interrupted the wait. */
		if (ended == -1 && errno == ECHILD)
			return true;
		usleep(200);
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return false;
}

/* One signal at a time: the time that a handler takes must not be the next signal's. */
static timer_t timer;

static void arm(void) {
	struct itimerspec once = {{0, 0}, {0, 300007 + forks * 37 % 200000}};
	timer_settime(timer, 0, &once, NULL);
}

static void on_timer(int signal_number) {
	(void)signal_number;
	int saved_errno = errno;
	if (getpid() == starter && forks < wanted_forks) {
		pid_t child = fork();
		if (child == 0 && (has_threads || forks % 4 == 0))
			_exit(0);
		if (child > 0) {
			forks++;
			stray |= !has_ended_well(child);
			arm();
		}
	}
	errno = saved_errno;
}

static size_t draw_bytes(unsigned *seed) {
	unsigned r = (unsigned)rand_r(seed);
	return r % 16 == 0 ? r % 200000 : r % 64 == 1 ? r % 6000000 : r % 2000;
}

/* One step of the work that is interrupted. */
static void step(unsigned char **blocks, size_t *bytes, unsigned *seed) {
	unsigned slot = (unsigned)rand_r(seed) % SLOTS;
	unsigned char *block = blocks[slot];
	if (block)
		MUST(block[0] == (unsigned char)bytes[slot] &&
		     block[bytes[slot] - 1] == (unsigned char)bytes[slot]);
	bool resize = block && rand_r(seed) % 4 == 0;
	if (!resize)
		free(block);
	bytes[slot] = draw_bytes(seed) + 1;
	block = resize ? realloc(block, bytes[slot]) : malloc(bytes[slot]);
	MUST(block != NULL);
	block[bytes[slot] - 1] = block[0] = (unsigned char)bytes[slot];
	blocks[slot] = block;
}

static void start_timer(void) {
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	MUST(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	arm();
}

/* Until the handler has forked so often.  In a child, some steps more and the end. */
static void work_and_fork(int count, bool forks_too) {
	static unsigned char *blocks[SLOTS];
	static size_t bytes[SLOTS];
	unsigned seed = 7;
	forks = 0;
	wanted_forks = count;
	start_timer();
	for (unsigned turn = 0; forks < wanted_forks; turn++) {
		step(blocks, bytes, &seed);
		if (forks_too && turn % 50 == 0 && getpid() == starter) {
			pid_t child = fork();
			MUST(child >= 0);
			if (child == 0)
				_exit(0);
			MUST(has_ended_well(child));
		}
		if (getpid() != starter) {
			for (int i = 0; i < CHILD_TURNS; i++)
				step(blocks, bytes, &seed);
			_exit(0);
		}
	}
	timer_delete(timer);
	MUST(!stray);
	printf("%d forks in a handler%s%s\n", count, forks_too ? " that interrupts forks" : "",
	       has_threads ? ", beside threads" : "");
	fflush(stdout);
}

static atomic_bool done;

static void *allocate_beside(void *argument) {
	unsigned seed = (unsigned)(size_t)argument;
	unsigned char **blocks = calloc(SLOTS, sizeof *blocks);
	size_t *bytes = calloc(SLOTS, sizeof *bytes);
	MUST(blocks && bytes);
	while (!atomic_load_explicit(&done, memory_order_relaxed))
		step(blocks, bytes, &seed);
	for (int i = 0; i < SLOTS; i++)
		free(blocks[i]);
	free(blocks);
	free(bytes);
	return NULL;
}

int main(void) {
	must_be_mallow();
	starter = getpid();
	const char *asked = getenv("MALLOW_TEST_FORKS");
	/* If a fork in a handler takes locks, or a lock in use is taken again, 100 forks fail or
	 * hang each time. */
	int count = asked ? atoi(asked) : 200;
	struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
	MUST(sigaction(SIGUSR1, &action, NULL) == 0);
	work_and_fork(count, false);
	work_and_fork(count, true);
	pthread_t threads[2];
	has_threads = true;
	for (size_t i = 0; i < 2; i++)
		MUST(pthread_create(&threads[i], NULL, allocate_beside, (void *)(i + 1)) == 0);
	work_and_fork(count / 3, false);
	atomic_store(&done, true);
	for (int i = 0; i < 2; i++)
		MUST(pthread_join(threads[i], NULL) == 0);
	return 0;
}
