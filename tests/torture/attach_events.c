/* SPDX-License-Identifier: MIT
 * attach_events.c MODULE -- for the torture of `mallow attach`: threads that do, again and again,
 * what changes a process meanwhile.  One forks, and the child allocates; one starts programs; one
 * loads MODULE, has it allocate, and unloads it; one makes threads that live for a moment; one
 * reads from a pipe by epoll_wait(2), and takes EINTR for an error. At the end of standard input
 * the program executes itself with END as its argument, which frees nothing and ends with status 0.
 * Status 1: a block did not hold what was written to it, or a call failed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static atomic_bool done;
static const char *module_path;

static void fail(const char *what) {
	fprintf(stderr, "FAILED: %s: %s\n", what, strerror(errno));
	_exit(1);
}

/* Allocates, writes, compares and frees. */
static void churn(unsigned seed) {
	unsigned char *blocks[32] = {0};
	for (unsigned i = 0; i < 200; i++) {
		unsigned at = (seed + i * 7) % 32;
		size_t bytes = 1 + (seed * 31 + i * 97) % 900;
		if (blocks[at] != NULL && blocks[at][0] != (unsigned char)at)
			fail("a block has changed");
		blocks[at] = realloc(blocks[at], bytes);
		if (blocks[at] == NULL)
			fail("realloc");
		blocks[at][0] = (unsigned char)at;
	}
	for (int i = 0; i < 32; i++)
		free(blocks[i]);
}

static void await_end(pid_t child, const char *what) {
	int status;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			fail(what);
	if (status != 0) {
		errno = 0;
		fail(what);
	}
}

static void *fork_often(void *unused) {
	for (unsigned seed = 1; !done; seed++) {
		pid_t child = fork();
		if (child < 0)
			fail("fork");
		if (child == 0) {
			churn(seed);
			_exit(0);
		}
		await_end(child, "a forked child");
		churn(seed);
	}
	return unused;
}

static void *spawn_often(void *unused) {
	char *words[] = {"true", NULL};
	for (unsigned seed = 2; !done; seed++) {
		pid_t child;
		if (posix_spawnp(&child, "true", NULL, NULL, words, environ) != 0)
			fail("posix_spawnp");
		await_end(child, "a spawned program");
		churn(seed);
	}
	return unused;
}

static void *load_often(void *unused) {
	while (!done) {
		void *module = dlopen(module_path, RTLD_NOW | RTLD_LOCAL);
		if (module == NULL)
			fail(dlerror());
		void *(*make)(size_t bytes);
		void (*drop)(void *block);
		*(void **)&make = dlsym(module, "module_make");
		*(void **)&drop = dlsym(module, "module_drop");
		if (make == NULL || drop == NULL)
			fail("the module has no functions");
		for (size_t bytes = 1; bytes < 2000; bytes += 37)
			drop(make(bytes));
		void *last = make(300);
		dlclose(module);
		free(last);
	}
	return unused;
}

static void *live_for_a_moment(void *seed) {
	churn((unsigned)(size_t)seed);
	return malloc(100);
}

static void *make_threads(void *unused) {
	for (size_t seed = 3; !done; seed++) {
		pthread_t thread;
		void *block;
		if (pthread_create(&thread, NULL, live_for_a_moment, (void *)seed) != 0)
			fail("pthread_create");
		pthread_join(thread, &block);
		free(block);
	}
	return unused;
}

static void *wait_by_epoll(void *unused) {
	int ends[2], epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = {.events = EPOLLIN};
	/* posix_spawn(3) blocks signals until its child has executed the program, so the kernel has
	 * another thread take the SIGCHLD of a program that ends before: epoll_wait(2) would return
	 * EINTR without mallow, too. */
	sigset_t children;
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	if (pthread_sigmask(SIG_BLOCK, &children, NULL) != 0 || epoll < 0 || pipe(ends) != 0 ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) != 0)
		fail("epoll");
	while (!done) {
		if (epoll_wait(epoll, &event, 1, 5) < 0)
			fail("epoll_wait");
		free(malloc(64));
	}
	return unused;
}

int main(int argc, char **argv) {
	static void *(*const works[])(void *) = {fork_often, spawn_often, load_often, make_threads,
						 wait_by_epoll};
	enum { COUNT = sizeof(works) / sizeof(works[0]) };
	pthread_t threads[COUNT];
	char byte;
	if (argc > 1 && strcmp(argv[1], "END") == 0) {
		puts("executed");
		return 0;
	}
	module_path = argv[1];
	for (int i = 0; i < COUNT; i++)
		if (pthread_create(&threads[i], NULL, works[i], NULL) != 0)
			fail("pthread_create");
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		continue;
	done = true;
	for (int i = 0; i < COUNT; i++)
		pthread_join(threads[i], NULL);
	execl("/proc/self/exe", argv[0], "END", (char *)NULL);
	fail("execl");
}
