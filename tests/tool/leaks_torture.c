/* SPDX-License-Identifier: MIT
 * leaks_torture.c -- leaks nothing, while threads start and end, fork, and load and unload a
 * library all the time; up to 64 threads allocate.  Prints "ready", ends when its input does, and
 * then exits with 0 if nothing failed. */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STARTERS = 8, THREADS_EACH = 8, KEPT = 64, STEPS = 2000, BYTES_MAX = 5000 };

static atomic_bool ends;

static void fail(const char *what) {
	fprintf(stderr, "leaks_torture: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static void *allocate(void *number) {
	unsigned seed = (unsigned)(size_t)number;
	void *kept[KEPT] = {0};
	for (int i = 0; i < STEPS; i++) {
		int k = rand_r(&seed) % KEPT;
		size_t bytes = (size_t)(rand_r(&seed) % BYTES_MAX) + 1;
		free(kept[k]);
		kept[k] = malloc(bytes);
		if (!kept[k])
			fail("malloc");
		memset(kept[k], 0x5a, bytes);
	}
	for (int i = 0; i < KEPT; i++)
		free(kept[i]);
	return NULL;
}

static void *start_threads(void *number) {
	unsigned seed = (unsigned)(size_t)number;
	while (!ends) {
		pthread_t threads[THREADS_EACH];
		for (int i = 0; i < THREADS_EACH; i++)
			if (pthread_create(&threads[i], NULL, allocate,
					   (void *)(size_t)rand_r(&seed)) != 0)
				fail("pthread_create");
		for (int i = 0; i < THREADS_EACH; i++)
			pthread_join(threads[i], NULL);
	}
	return NULL;
}

static void *fork_children(void *unused) {
	while (!ends) {
		int status = 1;
		pid_t child = fork();
		if (child == 0) {
			free(memset(malloc(100), 0, 100));
			_exit(0);
		}
		while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		if (child < 0 || status != 0)
			fail("a child");
		usleep(2000);
	}
	return unused;
}

static void *load_and_unload(void *unused) {
	while (!ends) {
		void *library = dlopen("libz.so.1", RTLD_NOW);
		if (!library)
			fail("dlopen of libz.so.1");
		dlclose(library);
		usleep(500);
	}
	return unused;
}

int main(void) {
	pthread_t threads[STARTERS + 2];
	for (int i = 0; i < STARTERS; i++)
		if (pthread_create(&threads[i], NULL, start_threads, (void *)(size_t)(i + 1)) != 0)
			fail("pthread_create");
	if (pthread_create(&threads[STARTERS], NULL, fork_children, NULL) != 0 ||
	    pthread_create(&threads[STARTERS + 1], NULL, load_and_unload, NULL) != 0 ||
	    write(1, "ready\n", 6) != 6)
		fail("the start");
	struct pollfd input = {.fd = 0, .events = POLLIN};
	while (poll(&input, 1, -1) <= 0)
		;
	ends = true;
	for (int i = 0; i < STARTERS + 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
