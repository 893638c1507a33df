/* SPDX-License-Identifier: MIT
 * cpu_handler.c -- what a sample of CPU time costs: sends the profiler's signal, as its timer does,
 * to a thread that is 30 calls deep, and takes off what a signal with an empty handler costs.
 * Preload libmallow.so with prof_cpu:1. Prints microseconds a sample. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SIGNALS 20000
#define TURNS 9

static void empty(int number, siginfo_t *info, void *context) {
	(void)number;
	(void)info;
	(void)context;
}

static double now_us(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Returns microseconds a signal. */
static double send(int number) {
	siginfo_t info = {.si_code = SI_TIMER};
	info.si_value.sival_int = (int)gettid();
	double start = now_us();
	for (int i = 0; i < SIGNALS; i++)
		syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), number, &info);
	return (now_us() - start) / SIGNALS;
}

static int compare(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static __attribute__((noinline)) void measure(int profiler, int other) {
	double cost[TURNS];
	send(profiler);
	for (int i = 0; i < TURNS; i++)
		cost[i] = send(profiler) - send(other);
	qsort(cost, TURNS, sizeof(cost[0]), compare);
	printf("%.2f\n", cost[TURNS / 2]);
}

static __attribute__((noinline)) int descend(int depth, int profiler, int other) {
	if (depth == 0)
		measure(profiler, other);
	else
		descend(depth - 1, profiler, other);
	return depth + 1; /* no tail call */
}

int main(void) {
	struct sigaction action;
	int profiler = 0;
	free(malloc(1));
	for (int number = SIGRTMAX; number > SIGRTMIN && !profiler; number--)
		if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_DFL)
			profiler = number;
	if (!profiler) {
		fprintf(stderr, "no handler: preload libmallow.so with MALLOW_CONF=prof_cpu:1\n");
		return 2;
	}
	memset(&action, 0, sizeof(action));
	action.sa_sigaction = empty;
	action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
	sigfillset(&action.sa_mask);
	sigaction(SIGRTMIN, &action, NULL);
	return descend(27, profiler, SIGRTMIN) == 0;
}
