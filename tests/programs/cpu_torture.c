/* SPDX-License-Identifier: MIT
 * cpu_torture.c [SECONDS] -- what signals at any instruction disturb: forks, exec, dlopen and
 * dlclose, threads that come and go, longjmp out of handlers, alternate stacks, coroutines, blocked
 * signals, restartable calls, errno.  Run with samples of CPU time at a high rate: each part
 * checks that it does not notice them. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static atomic_bool ends;
static const char *self;

static void fail(const char *what) {
	fprintf(stderr, "cpu_torture: %s: %s\n", what, strerror(errno));
	abort();
}

/* Allocates and computes for about so many microseconds. */
static uint64_t burn(unsigned microseconds) {
	uint64_t sum = 0;
	for (unsigned i = 0; i < microseconds; i++) {
		char *block = malloc(16 + i % 2000);
		if (!block)
			fail("malloc");
		memset(block, (int)i, 16);
		for (unsigned k = 0; k < 100; k++)
			sum = sum * 31 + (uint64_t)block[k % 16];
		free(block);
	}
	return sum;
}

static void expect_exit(pid_t child, const char *what) {
	int status;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			fail("waitpid");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		fprintf(stderr, "cpu_torture: %s ended with status %#x\n", what, (unsigned)status);
		abort();
	}
}

static void *forks(void *unused) {
	(void)unused;
	for (unsigned i = 0; !ends; i++) {
		pid_t child = fork();
		if (child < 0)
			fail("fork");
		if (child == 0) {
			burn(2000);
			if (i % 8 == 0)
				execl(self, self, "child", (char *)NULL);
			_exit(i % 8 == 0);
		}
		burn(100);
		expect_exit(child, i % 8 == 0 ? "a program after exec" : "a forked child");
	}
	return NULL;
}

static void *loads(void *unused) {
	(void)unused;
	while (!ends) {
		void *plugin = dlopen("plugin.so", RTLD_NOW | RTLD_LOCAL);
		if (!plugin) {
			fprintf(stderr, "cpu_torture: %s\n", dlerror());
			abort();
		}
		burn(50);
		dlclose(plugin);
	}
	return NULL;
}

static void *short_life(void *unused) {
	(void)unused;
	burn(200);
	return NULL;
}

static void *threads(void *unused) {
	(void)unused;
	while (!ends) {
		pthread_t two[2];
		for (int i = 0; i < 2; i++)
			if (pthread_create(&two[i], NULL, short_life, NULL) != 0)
				fail("pthread_create");
		for (int i = 0; i < 2; i++)
			pthread_join(two[i], NULL);
	}
	return NULL;
}

static void spin(unsigned turns) {
	for (volatile unsigned i = 0; i < turns; i++) {
	}
}

static __thread sigjmp_buf way_out;

static void jump_out(int number) {
	(void)number;
	spin(2000);
	siglongjmp(way_out, 1);
}

/* The handler runs on the smallest alternate stack that a signal's frame and a sample need. */
static void *jumps(void *unused) {
	(void)unused;
	size_t bytes = (size_t)sysconf(_SC_MINSIGSTKSZ) * 2 + 4096;
	stack_t stack = {.ss_sp = malloc(bytes), .ss_size = bytes};
	if (!stack.ss_sp || sigaltstack(&stack, NULL) != 0)
		fail("sigaltstack");
	while (!ends) {
		if (sigsetjmp(way_out, 1) == 0)
			pthread_kill(pthread_self(), SIGUSR1);
		burn(20);
	}
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	free(stack.ss_sp);
	return NULL;
}

static __thread ucontext_t outside, inside;

static void coroutine(void) {
	for (;;) {
		spin(3000);
		swapcontext(&inside, &outside);
	}
}

static void *coroutines(void *unused) {
	(void)unused;
	char *stack = malloc(65536);
	if (!stack || getcontext(&inside) != 0)
		fail("getcontext");
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = 65536;
	makecontext(&inside, coroutine, 0);
	while (!ends) {
		swapcontext(&outside, &inside);
		burn(5);
	}
	free(stack);
	return NULL;
}

static void *blocks_signals(void *unused) {
	(void)unused;
	sigset_t all, before;
	while (!ends) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		burn(300);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		burn(30);
	}
	return NULL;
}

/* read(2) and write(2) are restarted; errno survives. */
static void *restarts(void *unused) {
	(void)unused;
	int ends_of_pipe[2];
	if (pipe(ends_of_pipe) != 0)
		fail("pipe");
	while (!ends) {
		char bytes[4096];
		memset(bytes, 1, sizeof bytes);
		errno = 1234;
		spin(20000);
		if (errno != 1234)
			fail("errno has changed");
		if (write(ends_of_pipe[1], bytes, sizeof bytes) != (ssize_t)sizeof bytes ||
		    read(ends_of_pipe[0], bytes, sizeof bytes) != (ssize_t)sizeof bytes)
			fail("a call that is to be restarted");
	}
	close(ends_of_pipe[0]);
	close(ends_of_pipe[1]);
	return NULL;
}

int main(int argc, char **argv) {
	self = "/proc/self/exe";
	if (argc > 1 && strcmp(argv[1], "child") == 0) {
		burn(2000);
		return 0;
	}
	double seconds = argc > 1 ? atof(argv[1]) : 8;
	struct sigaction action = {.sa_handler = jump_out, .sa_flags = SA_ONSTACK};
	sigaction(SIGUSR1, &action, NULL);
	void *(*const parts[])(void *) = {forks,      loads,          threads, jumps,
					  coroutines, blocks_signals, restarts};
	enum { PARTS = sizeof parts / sizeof *parts };
	pthread_t running[PARTS];
	for (int i = 0; i < PARTS; i++)
		if (pthread_create(&running[i], NULL, parts[i], NULL) != 0)
			fail("pthread_create");
	struct timespec now, end;
	clock_gettime(CLOCK_MONOTONIC, &end);
	do {
		burn(1000);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - end.tv_sec) + (double)(now.tv_nsec - end.tv_nsec) / 1e9 <
		 seconds);
	ends = true;
	for (int i = 0; i < PARTS; i++)
		pthread_join(running[i], NULL);
	puts("ok");
	return 0;
}
