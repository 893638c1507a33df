/* SPDX-License-Identifier: MIT
 * profiler.c -- what profiler.sh runs: allocations of known sizes, and calls of the heap profiler.
 * Usage: profiler exit|api|bytes|freed|forks|execs PROGRAM|signal|waits|leaves|leaves-children|
 *                 leaves-vfork|leaves-in-handler|terminates|handles-term|terminates-child */
#include <gperftools/heap-profiler.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gperftools_test.h"

static void *volatile kept[100];

/* Returns the live objects and bytes of the profile's first line. */
static void read_sums(const char *text, long *objects, long *bytes) {
	CHECK(sscanf(text, "heap profile: %ld: %ld [", objects, bytes) == 2);
}

static void use_functions(const char *prefix) {
	long objects, bytes;
	CHECK(!IsHeapProfilerRunning());
	char *text = GetHeapProfile();
	CHECK(text && *text == '\0');
	free(text);
	HeapProfilerDump("while it is off");
	void *volatile early = malloc(50000);
	HeapProfilerStart(prefix);
	HeapProfilerStart("another");
	CHECK(IsHeapProfilerRunning());
	kept[0] = malloc(1000);
	kept[1] = calloc(3, 500);
	free(early);
	free(malloc(123));
	text = GetHeapProfile();
	read_sums(text, &objects, &bytes);
	CHECK(objects == 2 && bytes == 2500);
	CHECK(strstr(text, "MAPPED_LIBRARIES:"));
	free(text);
	HeapProfilerDump("by hand");
	HeapProfilerStop();
	CHECK(!IsHeapProfilerRunning());
	HeapProfilerDump("while it is off again");
	kept[2] = malloc(7000);
	HeapProfilerStart(prefix);
	kept[3] = malloc(111);
	text = GetHeapProfile();
	read_sums(text, &objects, &bytes);
	CHECK(objects == 1 && bytes == 111);
	free(text);
	HeapProfilerDump("the second time");
	HeapProfilerStop();
}

static void wait_for_files(const char *prefix, int count) {
	char path[4200];
	snprintf(path, sizeof path, "%s.%04d.heap", prefix, count);
	/* The script's time limit ends a program that waits in vain. */
	while (access(path, R_OK) != 0)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

static void fork_twice(void) {
	for (int i = 0; i < 2; i++) {
		pid_t child = fork();
		if (child == 0) {
			kept[10 + i] = malloc(3333);
			exit(0);
		}
		int status;
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
}

/* ---- HEAP_PROFILE_FINAL ---- */

static void leave_by_children(void) {
	pid_t child = fork();
	if (child == 0) {
		kept[10] = malloc(4444);
		_exit(3);
	}
	int status;
	CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
	_exit(0);
}

/* The child runs in this process's memory: it must write nothing. */
static void leave_by_vfork(void) {
	pid_t child = vfork(); // NOLINT
	if (child == 0)
		_exit(4);
	int status;
	CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 4);
}

static void leave_now(int number) {
	(void)number;
	_exit(5);
}

/* The handler interrupts malloc at some time. */
static void leave_in_handler(void) {
	struct sigaction action = {.sa_handler = leave_now};
	struct itimerspec soon = {.it_value = {.tv_nsec = 3000000}};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	timer_t timer;
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	CHECK(timer_settime(timer, 0, &soon, NULL) == 0);
	for (;;)
		free(malloc(1000));
}

static void exit_quietly(int number) {
	(void)number;
	exit(6);
}

static void terminate(bool handles) {
	if (handles)
		signal(SIGTERM, exit_quietly);
	kill(getpid(), SIGTERM);
	for (;;)
		pause();
}

/* A child that has not allocated yet has no thread of the profiler: the signal ends it all the
 * same. */
static void terminate_child(void) {
	for (int allocates = 0; allocates < 2; allocates++) {
		pid_t child = fork();
		if (child == 0) {
			if (allocates)
				kept[11] = malloc(5555);
			for (;;)
				pause();
		}
		nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
		CHECK(kill(child, SIGTERM) == 0);
		int status;
		CHECK(waitpid(child, &status, 0) == child);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	}
}

static void end(const char *what) {
	if (strcmp(what, "leaves") == 0)
		_exit(7);
	if (strcmp(what, "leaves-children") == 0)
		leave_by_children();
	if (strcmp(what, "leaves-vfork") == 0)
		leave_by_vfork();
	if (strcmp(what, "leaves-in-handler") == 0)
		leave_in_handler();
	if (strcmp(what, "terminates") == 0)
		terminate(false);
	if (strcmp(what, "handles-term") == 0)
		terminate(true);
	if (strcmp(what, "terminates-child") == 0)
		terminate_child();
}

int main(int count, char **arguments) {
	const char *what = count > 1 ? arguments[1] : "exit";
	const char *prefix = count > 2 ? arguments[2] : "";
	if (strcmp(what, "exit") == 0)
		kept[0] = malloc(3 << 20);
	if (strcmp(what, "api") == 0)
		use_functions(prefix);
	if (strcmp(what, "bytes") == 0)
		for (int i = 0; i < 10; i++)
			kept[i] = malloc(1 << 20);
	if (strcmp(what, "freed") == 0)
		for (int i = 0; i < 10; i++)
			free(malloc(1 << 20));
	if (strcmp(what, "forks") == 0)
		fork_twice();
	if (strcmp(what, "execs") == 0)
		return execl(arguments[0], arguments[0], "exit", (char *)NULL);
	if (strcmp(what, "signal") == 0) {
		raise(SIGUSR1);
		wait_for_files(prefix, 1);
		kill(getpid(), SIGUSR1);
		wait_for_files(prefix, 2);
	}
	if (strcmp(what, "waits") == 0)
		wait_for_files(prefix, 1);
	end(what);
	return 0;
}
