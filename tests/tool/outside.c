/* SPDX-License-Identifier: MIT
 * outside.c -- allocates what it is told to, and says how much that was.  A letter on standard
 * input is a command, and one line on standard output its answer:
 * x MEAN  each function of the malloc family once in 30 sizes: 270 calls
 * s MEAN  20,000 blocks by 4 threads, of which one in 10 stays
 * l       1,000 blocks that stay, by leak(), and as many that do not
 * b       the first bytes of malloc
 * h       calls malloc on stacks whose contents are no frames
 * f       allocates without pause
 * q       ends
 * Answers of x and s: bytes allocated, their standard deviation at one sample in MEAN bytes, bytes
 * still live, their standard deviation. */
#define _GNU_SOURCE
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
	double bytes, variance, live, live_variance;
} sums_t;

static double mean;
static void *volatile kept[64];

static void add(sums_t *sums, size_t size, int is_live) {
	double p = -expm1(-(double)size / mean),
	       variance = (double)size * (double)size * (1 - p) / p;
	sums->bytes += (double)size;
	sums->variance += variance;
	if (is_live) {
		sums->live += (double)size;
		sums->live_variance += variance;
	}
}

static void answer(const sums_t *sums) {
	printf("%.0f %.0f %.0f %.0f\n", sums->bytes, sqrt(sums->variance), sums->live,
	       sqrt(sums->live_variance));
}

/* Nothing but what is counted is allocated here. */
static void exercise(void) {
	sums_t sums = {0};
	for (size_t i = 0; i < 30; i++) {
		size_t size = 100 + i * i * 50;
		void *block = NULL;
		free(malloc(size));
		add(&sums, size, 0);
		free(calloc(3, size));
		add(&sums, 3 * size, 0);
		block = realloc(NULL, size);
		add(&sums, size, 0);
		block = realloc(block, 3 * size);
		add(&sums, 3 * size, 0);
		if (realloc(block, SIZE_MAX / 4) != NULL)
			abort();
		free(block);
		free(memalign(16, size));
		add(&sums, size, 0);
		free(memalign(256, size));
		add(&sums, size, 0);
		free(aligned_alloc(64, size / 64 * 64 + 64));
		add(&sums, size / 64 * 64 + 64, 0);
		if (posix_memalign(&block, 16, size) != 0)
			abort();
		free(block);
		add(&sums, size, 0);
		if (posix_memalign(&block, 512, size) != 0)
			abort();
		kept[i] = block;
		add(&sums, size, 1);
	}
	answer(&sums);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sums_t all;

static void *allocate(void *argument) {
	sums_t sums = {0};
	uint64_t state = (uintptr_t)argument;
	for (int i = 0; i < 5000; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		size_t size = 16 + (state >> 33) % 4000;
		void *volatile block = malloc(size);
		add(&sums, size, i % 10 == 0);
		if (i % 10 != 0)
			free(block);
		if (i % 100 == 0)
			usleep(1000);
	}
	pthread_mutex_lock(&lock);
	all.bytes += sums.bytes;
	all.variance += sums.variance;
	all.live += sums.live;
	all.live_variance += sums.live_variance;
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void sample(void) {
	pthread_t threads[4];
	all = (sums_t){0};
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, allocate, (void *)(i + 1));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	answer(&all);
}

__attribute__((noinline)) void *leak(size_t size) {
	char *block = malloc(size);
	memset(block, 1, size);
	return block;
}

__attribute__((noinline)) void *use(size_t size) {
	char *block = malloc(size);
	memset(block, 1, size);
	return block;
}

static void leave(void) {
	for (int i = 0; i < 1000; i++) {
		void *volatile block = leak(5000);
		(void)block;
		free(use(5000));
	}
	puts("done");
}

static void show_malloc(void) {
	const unsigned char *code = (const unsigned char *)(uintptr_t)malloc;
	for (int i = 0; i < 24; i++)
		printf("%02x", code[i]);
	putchar('\n');
}

/* Calls malloc with the stack pointer and the frame pointer given. */
static void *call_malloc(char *top, uint64_t frame) {
	void *block;
	size_t size = 3000;
	__asm__ volatile("mov %%rsp, %%r12\n"
			 "mov %%rbp, %%r13\n"
			 "mov %[top], %%rsp\n"
			 "mov %[frame], %%rbp\n"
			 "call malloc@PLT\n"
			 "mov %%r13, %%rbp\n"
			 "mov %%r12, %%rsp\n"
			 : "=a"(block), "+D"(size)
			 : [top] "r"(top), [frame] "r"(frame)
			 : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "cc",
			   "memory");
	return block;
}

/* Stacks that are full of one byte, at the end of a mapping and in the middle of one. */
static void disturb(void) {
	const size_t bytes = 65536;
	for (int i = 0; i < 50; i++) {
		char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);
		if (stack == MAP_FAILED)
			abort();
		memset(stack, i * 5 + 3, bytes);
		char *top = stack + bytes - (i % 2 == 0 ? 16 : 20000);
		free(call_malloc(top, i % 3 == 0 ? (uintptr_t)top : UINT64_MAX - 8 * (uint64_t)i));
		munmap(stack, bytes);
	}
	puts("done");
}

int main(void) {
	static char in[4096], out[4096];
	char letter;
	/* Buffers of stdio are no blocks. */
	setvbuf(stdin, in, _IONBF, sizeof(in));
	setvbuf(stdout, out, _IOLBF, sizeof(out));
	puts("ready");
	while (scanf(" %c", &letter) == 1 && letter != 'q') {
		if ((letter == 'x' || letter == 's') && scanf("%lf", &mean) != 1)
			return 1;
		if (letter == 'x')
			exercise();
		else if (letter == 's')
			sample();
		else if (letter == 'l')
			leave();
		else if (letter == 'b')
			show_malloc();
		else if (letter == 'h')
			disturb();
		else if (letter == 'f')
			for (;;)
				free(use(64));
	}
	return 0;
}
