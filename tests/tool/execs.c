/* SPDX-License-Identifier: MIT
 * execs.c -- execs COUNT KIND MEGABYTES [THREAD]: executes itself COUNT times, each time after a
 * little work with a heap of that size, from another thread if THREAD is given. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static char *words[6];

static double cpu_seconds(void) {
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Page faults, system calls and computing: something for each kind of event. */
static void work(size_t bytes) {
	double end = cpu_seconds() + 0.002;
	char *volatile heap = malloc(bytes);
	memset(heap, 1, bytes);
	while (cpu_seconds() < end) {
		char *volatile block = malloc(300000);
		memset(block, 1, 300000);
		free(block);
		usleep(10);
	}
	/* The heap stays: exec(3) has more to do. */
}

static void *execute(void *unused) {
	(void)unused;
	static char self[] = "/proc/self/exe";
	const char *kind = words[2];
	if (strcmp(kind, "execve") == 0)
		execve(self, words, environ);
	else if (strcmp(kind, "execvp") == 0)
		execvp(self, words);
	else if (strcmp(kind, "syscall") == 0)
		syscall(SYS_execve, self, words, environ);
	else if (strcmp(kind, "fexecve") == 0)
		fexecve(open(self, O_RDONLY | O_CLOEXEC), words, environ);
	perror(kind);
	_exit(3);
}

/* The parent goes on with the status of the last program. */
static int spawn(void) {
	pid_t child;
	int status;
	if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, words, environ) != 0)
		return 3;
	if (waitpid(child, &status, 0) != child)
		return 3;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int count, char **arguments) {
	static char left[24];
	long turns = atol(arguments[1]);
	memcpy(words, arguments, (size_t)count * sizeof(*words));
	work((size_t)atol(arguments[3]) << 20);
	if (turns == 0)
		return 0;
	snprintf(left, sizeof(left), "%ld", turns - 1);
	words[1] = left;
	if (strcmp(words[2], "spawn") == 0)
		return spawn();
	if (count > 4) {
		pthread_t thread;
		pthread_create(&thread, NULL, execute, NULL);
		for (;;)
			work(1 << 16);
	}
	execute(NULL);
	return 3;
}
