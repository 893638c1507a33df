/* SPDX-License-Identifier: MIT
 * stack_need.c PATH [thread] -- how many bytes of stack the library takes below its caller: runs a
 * path of malloc and its kin on a painted stack of its own, and prints how many bytes of it
 * changed. "first" runs in a new thread.  With "thread" the stack is a thread's, from its start to
 * its end. */
#define _GNU_SOURCE
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK_BYTES = 1 << 20, PAINT = 0xa5, BLOCKS = 3000 };

static ucontext_t outside, inside;
static char *stack;
static void (*running)(void);
static uintptr_t caller_sp; /* of the path's function */
static void *volatile blocks[BLOCKS];

static void note_caller(void) {
	caller_sp = (uintptr_t)__builtin_frame_address(0);
}

/* The library's functions through volatile pointers: the compiler leaves no call out. */
static void *(*volatile allocate)(size_t) = malloc;
static void (*volatile release)(void *) = free;
static void *(*volatile resize)(void *, size_t) = realloc;
static void *(*volatile allocate_zeroed)(size_t, size_t) = calloc;
static void *(*volatile allocate_aligned)(size_t, size_t) = memalign;

/* ---- paths ---- */

static void pair(void) {
	release(allocate(64));
}

static void first(void) {
	blocks[0] = allocate(64);
}

static void many(void) {
	for (size_t size = 1; size < 300000; size += 1 + size / 8)
		for (int i = 0; i < 20; i++)
			release(allocate(size));
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = allocate((size_t)(i % 1000) + 1);
	for (int i = 0; i < BLOCKS; i++)
		release(blocks[i]);
}

static void large(void) {
	for (size_t size = 30000; size < (64u << 20); size += size / 2) {
		char *block = allocate(size);
		block[0] = 1;
		block = resize(block, size * 2);
		block = resize(block, size / 2);
		release(block);
		release(allocate_aligned(65536, size));
		release(allocate_zeroed(1, size));
	}
}

static void growing(void) {
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = allocate(4000);
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = resize(blocks[i], 5000);
	for (int i = 0; i < BLOCKS; i++)
		release(blocks[i]);
}

static void *fill(void *unused) {
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = allocate(200);
	return unused;
}

static void of_others(void) {
	for (int i = 0; i < BLOCKS; i++)
		release(blocks[i]);
	many();
}

/* Allocates until standard input has a byte or ends: meanwhile tools make requests. */
static void requested(void) {
	struct pollfd input = {.fd = 0, .events = POLLIN};
	if (write(1, "ready\n", 6) != 6)
		return;
	while (poll(&input, 1, 1) <= 0) /* a signal may interrupt it */
		growing();
}

static volatile sig_atomic_t signals;

/* Burns CPU time, so that samples of it are taken here. */
static void burn(void) {
	struct timespec now;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_nsec < 200000000 && now.tv_sec == 0);
}

static void on_signal(int number) {
	(void)number;
	signals++;
}

/* What the kernel takes for any signal's handler. */
static void plain_signal(void) {
	raise(SIGUSR1);
}

static const struct path {
	const char *name;
	void (*run)(void);
} paths[] = {
	{"pair", pair},           {"first", first},     {"sizes", many},
	{"large", large},         {"growing", growing}, {"of-others", of_others},
	{"requested", requested}, {"cpu-time", burn},   {"any-signal", plain_signal},
};

/* ---- measuring ---- */

static void on_stack(void) {
	note_caller();
	running();
}

static size_t touched(void) {
	size_t untouched = 0;
	while (untouched < STACK_BYTES && stack[untouched] == (char)PAINT)
		untouched++;
	return caller_sp - (uintptr_t)stack - untouched;
}

static void *on_stack_of_thread(void *unused) {
	on_stack();
	return unused;
}

static size_t measure_thread(void (*run)(void)) {
	pthread_attr_t attributes;
	pthread_t thread;
	memset(stack, PAINT, STACK_BYTES);
	running = run;
	pthread_attr_init(&attributes);
	if (pthread_attr_setstack(&attributes, stack, STACK_BYTES) != 0 ||
	    pthread_create(&thread, &attributes, on_stack_of_thread, NULL) != 0)
		return SIZE_MAX;
	pthread_join(thread, NULL);
	return touched();
}

static size_t measure(void (*run)(void)) {
	memset(stack, PAINT, STACK_BYTES);
	running = run;
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = STACK_BYTES;
	inside.uc_link = &outside;
	makecontext(&inside, on_stack, 0);
	swapcontext(&outside, &inside);
	return touched();
}

static void *in_thread(void *path) {
	const struct path *p = path;
	printf("%zu\n", measure(p->run));
	return NULL;
}

int main(int argc, char **argv) {
	pthread_t thread;
	const struct path *path = paths, *end = paths + sizeof(paths) / sizeof(paths[0]);
	while (path < end && (argc < 2 || strcmp(argv[1], path->name) != 0))
		path++;
	if (path == end)
		return 2;
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction action = {.sa_handler = on_signal};
	sigaction(SIGUSR1, &action, NULL);
	if (path->run == pair)
		pair();
	if (path->run == of_others) {
		pthread_create(&thread, NULL, fill, NULL);
		pthread_join(thread, NULL);
	}
	if (argc > 2) {
		printf("%zu\n", measure_thread(path->run));
	} else if (path->run == first) {
		pthread_create(&thread, NULL, in_thread, (void *)path);
		pthread_join(thread, NULL);
	} else {
		in_thread((void *)path);
	}
	return 0;
}
