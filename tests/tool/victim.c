/* SPDX-License-Identifier: MIT
 * victim.c HOW -- 30 MiB in blocks of 3000 bytes, then an end of the kind that leaves no time:
 * killed, oom, _exit, vfork (whose child leaves by _exit), crash (inside malloc, by a list of its
 * own that was overwritten), hang (in a lock that nobody opens), fork, abort. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *blocks[10000];

__attribute__((noinline)) static void fill(void) {
	for (int i = 0; i < 10000; i++)
		memset(blocks[i] = malloc(3000), 1, 3000);
}

__attribute__((noinline)) static void grow_without_end(void) {
	for (;;)
		memset(malloc(1 << 20), 1, 1 << 20);
}

/* What a write into freed memory does: the list of free blocks leads nowhere. */
__attribute__((noinline)) static void crash_in_malloc(void) {
	for (int i = 0; i < 10000; i++)
		free(blocks[i]);
	for (int i = 0; i < 10000; i++)
		memset(blocks[i], 0x11, 64);
	for (int i = 0; i < 10000; i++)
		blocks[i] = malloc(3000);
}

__attribute__((noinline)) static void child_fill(void) {
	for (int i = 0; i < 5000; i++)
		memset(malloc(3000), 1, 3000);
}

int main(int argc, char **argv) {
	const char *how = argc > 1 ? argv[1] : "";
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	fill();
	printf("ready\n");
	fflush(stdout);
	if (strcmp(how, "oom") == 0)
		grow_without_end();
	if (strcmp(how, "_exit") == 0)
		_exit(3);
	if (strcmp(how, "vfork") == 0) {
		if (vfork() == 0)
			_exit(3);
		printf("over\n");
		fflush(stdout);
	}
	if (strcmp(how, "crash") == 0)
		crash_in_malloc();
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "fork") == 0 && fork() == 0)
		child_fill();
	pthread_mutex_lock(&mutex);
	pthread_mutex_lock(&mutex);
	return 0;
}
