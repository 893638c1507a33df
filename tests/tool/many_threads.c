/* SPDX-License-Identifier: MIT
 * many_threads.c KIND COUNT -- allocates, and waits until its input ends, in COUNT threads of which
 * only the last one has room on its stack for an answer. Its first thread has ended. Of the others
 * each waits on a small stack (KIND "small"), or as a coroutine on a part of a large mapping, which
 * is seen when it is stopped ("parts"). */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { BLOCKS = 3000, BLOCK_BYTES = 1000, SMALL_BYTES = 16384, PART_BYTES = 131072 };

static void *volatile blocks[BLOCKS];
static char *parts;

static void wait_for_input(void) {
	struct pollfd input = {.fd = 0, .events = POLLIN};
	while (poll(&input, 1, -1) < 0)
		continue;
	_exit(0);
}

static void *wait_on_own_stack(void *unused) {
	wait_for_input();
	return unused;
}

static void *wait_on_part(void *number) {
	ucontext_t outside, inside;
	getcontext(&inside);
	inside.uc_stack.ss_sp = parts + (size_t)number * PART_BYTES;
	inside.uc_stack.ss_size = PART_BYTES;
	inside.uc_link = &outside;
	makecontext(&inside, wait_for_input, 0);
	swapcontext(&outside, &inside);
	return number;
}

int main(int argc, char **argv) {
	int is_part = argc > 2 && strcmp(argv[1], "parts") == 0;
	size_t count = argc > 2 ? (size_t)atoi(argv[2]) : 1;
	pthread_attr_t small;
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = memset(malloc(BLOCK_BYTES), 1, BLOCK_BYTES);
	parts = mmap(NULL, count * PART_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (parts == MAP_FAILED || pthread_attr_init(&small) != 0 ||
	    pthread_attr_setstacksize(&small, SMALL_BYTES) != 0)
		return 1;
	for (size_t i = 0; i < count; i++) {
		pthread_t thread;
		void *(*wait)(void *) = is_part && i + 1 < count ? wait_on_part : wait_on_own_stack;
		if (pthread_create(&thread, i + 1 < count ? &small : NULL, wait, (void *)i) != 0)
			return 1;
	}
	if (write(1, "ready\n", 6) != 6)
		return 1;
	pthread_exit(NULL);
}
