/* SPDX-License-Identifier: MIT
 * small_stacks.c -- waits in epoll_wait() on a stack that is a block of malloc(), an alternate one
 * of a signal, or a thread's next to those of other threads in one mapping ("guarded": above one
 * guard; "long": so, and long), the first thread's near its limit ("limited"), or the smallest that
 * a thread may have ("least"), until a line comes.
 * Afterwards it says how many bytes beside the stack have changed.
 * "block", "huge": a thread's stack at the end of a block of malloc().
 * small_stacks coroutine|alternate|adjoining|guarded|long|limited|least|block|huge */
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
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
enum {
	THREADS = 32,
	DEPTH_BYTES = 7168,
	GUARD_BYTES = 4096,
	LONG_BYTES = 262144,
	HUGE_BYTES = 16 << 20,
	ROOM_BYTES = 1536
};

static pthread_barrier_t all_wait;
static int all_changed;
/* How much of its stack each thread uses. */
static size_t depth_bytes = DEPTH_BYTES;
static __thread char top[512];

static void *wait_deep(void *number) {
	volatile char mine[depth_bytes];
	for (size_t i = 0; i < depth_bytes; i++)
		mine[i] = FILL;
	memset(top, FILL, sizeof top);
	pthread_barrier_wait(&all_wait);
	if (number == NULL) {
		wait_for_line();
		pthread_barrier_wait(&all_wait);
	} else {
		pthread_barrier_wait(&all_wait);
	}
	int changed = 0;
	for (size_t i = 0; i < depth_bytes; i++)
		changed += mine[i] != FILL;
	for (size_t i = 0; i < sizeof top; i++)
		changed += top[i] != FILL;
	__atomic_fetch_add(&all_changed, changed, __ATOMIC_RELAXED);
	pthread_barrier_wait(&all_wait);
	if (number == NULL) {
		/* No memory is allocated here: what was requested would be done on this stack. */
		char text[32];
		int bytes = snprintf(text, sizeof text, "changed: %d\n", all_changed);
		_exit(write(1, text, (size_t)bytes) != bytes);
	}
	for (;;)
		pause();
}

static int adjoin(bool has_guard, size_t stack_bytes) {
	char *stacks = mmap(NULL, THREADS * stack_bytes + GUARD_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stacks == MAP_FAILED || (has_guard && mprotect(stacks, GUARD_BYTES, PROT_NONE) != 0))
		return 1;
	stacks += GUARD_BYTES;
	pthread_barrier_init(&all_wait, NULL, THREADS);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_attr_t attributes;
		pthread_t thread;
		pthread_attr_init(&attributes);
		if (pthread_attr_setstack(&attributes, stacks + i * stack_bytes, stack_bytes) !=
			    0 ||
		    pthread_create(&thread, &attributes, wait_deep,
				   i + 1 < THREADS ? stacks : NULL) != 0)
			return 1;
	}
	pthread_exit(NULL);
}

/* Of the first thread's stack: the kernel lets it grow so far. */
enum { LIMIT_BYTES = 512 << 10, LEFT_BYTES = 5000 };
static const char *stack_end;

static __attribute__((noinline)) void wait_near_limit(void) {
	volatile char part[512] = {0};
	if (stack_end - (const char *)__builtin_frame_address(0) < LIMIT_BYTES - LEFT_BYTES)
		wait_near_limit();
	else
		wait_for_line();
	part[0] = 1;
}

static int limit_stack(void) {
	const struct rlimit limit = {LIMIT_BYTES, LIMIT_BYTES};
	char line[512];
	unsigned long end = 0;
	FILE *maps = fopen("/proc/self/maps", "re");
	while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
		if (strstr(line, "[stack]") != NULL)
			sscanf(line, "%*x-%lx", &end);
	if (maps == NULL || fclose(maps) != 0 || end == 0 || setrlimit(RLIMIT_STACK, &limit) != 0)
		return 1;
	stack_end = (const char *)end;
	wait_near_limit();
	puts("changed: 0");
	return 0;
}

/* Does what was requested meanwhile when it allocates. */
static void *allocate_on_least(void *unused) {
	volatile char part[4096];
	void *blocks[64];
	(void)unused;
	memset((char *)part, FILL, sizeof part);
	wait_for_line();
	for (int i = 0; i < 64; i++)
		blocks[i] = malloc(20000);
	for (int i = 0; i < 64; i++)
		free(blocks[i]);
	int changed = 0;
	for (size_t i = 0; i < sizeof part; i++)
		changed += part[i] != FILL;
	puts(changed == 0 ? "changed: 0" : "changed: some");
	exit(0);
}

static int start_least(void) {
	pthread_attr_t attributes;
	pthread_t thread;
	pthread_attr_init(&attributes);
	if (pthread_attr_setstacksize(&attributes, 16384) != 0 ||
	    pthread_create(&thread, &attributes, allocate_on_least, NULL) != 0)
		return 1;
	pthread_exit(NULL);
}

/* A thread's stack at the end of a block, behind other data of the program. */
static size_t beside_bytes;

static void *wait_in_block(void *unused) {
	size_t changed = 0;
	uintptr_t end = (uintptr_t)data + beside_bytes;
	/* Most of the stack is in use. */
	volatile char *used = alloca((uintptr_t)__builtin_frame_address(0) - end - ROOM_BYTES);
	*used = FILL;
	wait_for_line();
	for (size_t i = 0; i < beside_bytes; i++)
		changed += data[i] != FILL;
	/* No memory is allocated here: what was requested would be done on this stack. */
	if (write(1, changed == 0 ? "changed: 0\n" : "changed: N\n", 11) != 11)
		_exit(1);
	_exit(0);
	return unused;
}

static int start_in_block(size_t bytes) {
	pthread_attr_t attributes;
	pthread_t thread;
	char *block = malloc(bytes + STACK_BYTES + GUARD_BYTES);
	if (block == NULL)
		return 1;
	data = (char *)(((uintptr_t)block + GUARD_BYTES - 1) & ~(uintptr_t)(GUARD_BYTES - 1));
	beside_bytes = bytes;
	memset(data, FILL, bytes + STACK_BYTES);
	pthread_attr_init(&attributes);
	if (pthread_attr_setstack(&attributes, data + bytes, STACK_BYTES) != 0 ||
	    pthread_create(&thread, &attributes, wait_in_block, NULL) != 0)
		return 1;
	pthread_exit(NULL);
}

int main(int argc, char **argv) {
	(void)argc;
	void *first = malloc(1000);
	if (strcmp(argv[1], "adjoining") == 0 || strcmp(argv[1], "guarded") == 0)
		return adjoin(argv[1][0] == 'g', STACK_BYTES);
	if (strcmp(argv[1], "long") == 0) {
		depth_bytes = LONG_BYTES - (STACK_BYTES - DEPTH_BYTES);
		return adjoin(true, LONG_BYTES);
	}
	if (strcmp(argv[1], "limited") == 0)
		return limit_stack();
	if (strcmp(argv[1], "least") == 0)
		return start_least();
	if (strcmp(argv[1], "block") == 0)
		return start_in_block(BESIDE_BYTES);
	if (strcmp(argv[1], "huge") == 0)
		return start_in_block(HUGE_BYTES);
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
