/* SPDX-License-Identifier: MIT
 * small_stacks.c -- waits in epoll_wait() on a stack that is a block of malloc(), an alternate one
 * of a signal, or a thread's next to those of other threads in one mapping ("guarded": above one
 * guard), until a line comes.
 * Afterwards it says how many bytes beside the stack have changed.
 * small_stacks coroutine|alternate|adjoining|guarded */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK_BYTES = 16384, BESIDE_BYTES = 65536, FILL = 0x5a };

static ucontext_t outside, inside;
/* The stack lies behind other data of the program. */
static char *data;

static void wait_for_line(void) {
	struct epoll_event event = {.events = EPOLLIN};
	int set = epoll_create1(0);
	epoll_ctl(set, EPOLL_CTL_ADD, 0, &event);
	(void)!write(1, "ready\n", 6);
	int events = epoll_wait(set, &event, 1, -1);
	if (events != 1)
		printf("epoll_wait: %d\n", events);
	close(set);
}

static void on_signal(int number) {
	(void)number;
	wait_for_line();
}

/* Threads whose stacks adjoin: what one of them writes below its own is the data of another. The
 * first thread of the process ends. */
enum { THREADS = 32, DEPTH_BYTES = 8192, GUARD_BYTES = 4096 };

static pthread_barrier_t all_wait;
static int all_changed;

static void *wait_deep(void *number) {
	volatile char mine[DEPTH_BYTES];
	for (int i = 0; i < DEPTH_BYTES; i++)
		mine[i] = FILL;
	pthread_barrier_wait(&all_wait);
	if (number == NULL) {
		wait_for_line();
		pthread_barrier_wait(&all_wait);
	} else {
		pthread_barrier_wait(&all_wait);
	}
	int changed = 0;
	for (int i = 0; i < DEPTH_BYTES; i++)
		changed += mine[i] != FILL;
	__atomic_fetch_add(&all_changed, changed, __ATOMIC_RELAXED);
	pthread_barrier_wait(&all_wait);
	if (number == NULL) {
		printf("changed: %d\n", all_changed);
		exit(0);
	}
	return NULL;
}

static int adjoin(bool has_guard) {
	char *stacks = mmap(NULL, THREADS * STACK_BYTES + GUARD_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stacks == MAP_FAILED || (has_guard && mprotect(stacks, GUARD_BYTES, PROT_NONE) != 0))
		return 1;
	stacks += GUARD_BYTES;
	pthread_barrier_init(&all_wait, NULL, THREADS);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_attr_t attributes;
		pthread_t thread;
		pthread_attr_init(&attributes);
		if (pthread_attr_setstack(&attributes, stacks + i * STACK_BYTES, STACK_BYTES) !=
			    0 ||
		    pthread_create(&thread, &attributes, wait_deep,
				   i + 1 < THREADS ? stacks : NULL) != 0)
			return 1;
	}
	pthread_exit(NULL);
}

int main(int argc, char **argv) {
	(void)argc;
	void *first = malloc(1000);
	if (strcmp(argv[1], "adjoining") == 0 || strcmp(argv[1], "guarded") == 0)
		return adjoin(argv[1][0] == 'g');
	data = malloc(BESIDE_BYTES + STACK_BYTES);
	memset(data, FILL, BESIDE_BYTES + STACK_BYTES);
	if (strcmp(argv[1], "coroutine") == 0) {
		getcontext(&inside);
		inside.uc_stack.ss_sp = data + BESIDE_BYTES;
		inside.uc_stack.ss_size = STACK_BYTES;
		inside.uc_link = &outside;
		makecontext(&inside, wait_for_line, 0);
		swapcontext(&outside, &inside);
	} else {
		stack_t stack = {.ss_sp = data + BESIDE_BYTES, .ss_size = STACK_BYTES};
		struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
		sigaltstack(&stack, NULL);
		sigaction(SIGUSR1, &action, NULL);
		raise(SIGUSR1);
	}
	int changed = 0;
	for (int i = 0; i < BESIDE_BYTES; i++)
		changed += data[i] != FILL;
	/* What the answer would write on the stack itself, below what the program used. */
	for (int i = BESIDE_BYTES; i < BESIDE_BYTES + STACK_BYTES / 2; i++)
		changed += data[i] != FILL;
	printf("changed: %d\n", changed);
	free(first);
	return 0;
}
