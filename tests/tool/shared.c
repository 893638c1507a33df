/* SPDX-License-Identifier: MIT
 * shared.c -- threads that make and free blocks of three sizes at one place, a known number of
 * each. Then, for each byte of standard input: w does it again, f forks a child that waits; all
 * make a large block, so that requests from outside are seen. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { THREADS = 5, TURNS = 3000, KEPT = 100 };

static void *kept[THREADS][KEPT];

static __attribute__((noinline)) void *make_shared(size_t turn) {
	return malloc(turn % 3 == 0 ? 40 : turn % 3 == 1 ? 100 : 1000);
}

static void *work(void *argument) {
	void **mine = argument;
	for (size_t i = 0; i < TURNS; i++) {
		free(mine[i % KEPT]);
		mine[i % KEPT] = make_shared(i);
	}
	return NULL;
}

static void run_threads(void) {
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, kept[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void make_large(void) {
	void *volatile block = malloc(3 << 20);
	free(block);
}

/* A child with more of the same; its pid when it is done. */
static pid_t fork_child(void) {
	int done[2];
	char byte;
	if (pipe(done) != 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run_threads();
		if (write(done[1], "d", 1) == 1)
			pause();
		_exit(1);
	}
	close(done[1]);
	if (read(done[0], &byte, 1) != 1)
		return -1;
	close(done[0]);
	return pid;
}

int main(void) {
	char byte;
	setvbuf(stdout, NULL, _IONBF, 0);
	run_threads();
	puts("ready");
	while (read(0, &byte, 1) == 1) {
		if (byte == 'w')
			run_threads();
		make_large();
		printf("%d\n", byte == 'f' ? (int)fork_child() : 0);
	}
	return 0;
}
