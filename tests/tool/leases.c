/* SPDX-License-Identifier: MIT
 * leases.c -- a program for leases.sh. It allocates, so that it sees requests, until SIGUSR1 comes.
 * From then on it computes, never allocates, and has the name "quiet" in the kernel. With an
 * argument it executes that program at SIGUSR2. It uses a processor for some of the time only,
 * because scripts have it run while they wait. */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static volatile sig_atomic_t is_quiet, is_over;
static void *volatile block;
static volatile unsigned long sum;

static void on_signal(int number) {
	if (number == SIGUSR1)
		is_quiet = 1;
	else
		is_over = 1;
}

__attribute__((noinline)) static void allocate(void) {
	for (int i = 0; i < 1000; i++) {
		block = malloc(3000);
		free(block);
	}
}

__attribute__((noinline)) static void compute(void) {
	for (unsigned long i = 0; i < 100000; i++)
		sum += i * i;
}

int main(int count, char **words) {
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	while (!is_over) {
		if (!is_quiet)
			allocate();
		else
			prctl(PR_SET_NAME, "quiet");
		compute();
		usleep(1000);
	}
	if (count > 1)
		execv(words[1], words + 1);
	return 0;
}
