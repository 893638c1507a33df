/* SPDX-License-Identifier: MIT
 * small_stacks.c -- waits in epoll_wait() on a stack that is a block of malloc() or an alternate
 * one of a signal, until a line comes.  Afterwards it says how many bytes beside the stack have
 * changed. small_stacks coroutine|alternate */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
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

int main(int argc, char **argv) {
	(void)argc;
	void *first = malloc(1000);
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
