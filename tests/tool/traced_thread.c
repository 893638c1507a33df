/* SPDX-License-Identifier: MIT
 * traced_thread.c -- allocates 2000 blocks of 1000 bytes, and starts a thread that blocks every
 * signal and is traced by a child. Prints "ready" and sleeps in poll(2) until its input ends. Ends
 * with 1 if poll(2) has failed. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "allocate.h"

static int ends[2], ready[2];

static void *pause_on(void *unused) {
	sigset_t all;
	pid_t self = (pid_t)syscall(SYS_gettid);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	if (write(ends[1], &self, sizeof self) != sizeof self)
		abort();
	for (;;)
		pause();
	return unused;
}

static void trace(void) {
	pid_t thread;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(ends[0], &thread, sizeof thread) != sizeof thread ||
	    ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0 || write(ready[1], "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

int main(void) {
	struct pollfd input = {.fd = 0, .events = POLLIN};
	pthread_t other;
	char byte;
	if (allocate() != 0 || pipe(ends) != 0 || pipe(ready) != 0)
		return 2;
	pid_t child = fork();
	if (child == 0)
		trace();
	prctl(PR_SET_PTRACER, child, 0, 0, 0);
	if (child < 0 || pthread_create(&other, NULL, pause_on, NULL) != 0 ||
	    read(ready[0], &byte, 1) != 1 || write(1, "ready\n", 6) != 6)
		return 2;
	int result = poll(&input, 1, -1);
	kill(child, SIGKILL);
	return result < 0;
}
