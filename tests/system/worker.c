/* SPDX-License-Identifier: MIT
 * worker.c [sleep|compute] -- keeps 100 blocks and loses 60, and then allocates without end; or
 * sleeps, or computes without a call of the library. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEPT = 100, LOST = 60, BYTES = 5000 };
static void *volatile kept[KEPT]; /* its stores stay */

__attribute__((noinline)) static void *keep_block(void) {
	char *block = malloc(BYTES);
	memset(block, 1, BYTES);
	return block;
}

__attribute__((noinline)) static void lose_block(void) {
	char *block = malloc(BYTES);
	memset(block, 1, BYTES);
	__asm__ volatile("" : : "r"(block) : "memory");
}

__attribute__((noinline)) static void lose_blocks(void) {
	for (int i = 0; i < LOST; i++)
		lose_block();
}

/* So deep that what lose_blocks() left on the stack is overwritten. */
__attribute__((noinline)) static void clear_stack(void) {
	char bytes[16384];
	memset(bytes, 0, sizeof bytes);
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

__attribute__((noinline)) static void allocate_on(void) {
	for (;;) {
		free(keep_block());
		for (int i = 0; i < 10; i++)
			free(malloc((size_t)(64 << i)));
		usleep(200);
	}
}

__attribute__((noinline)) static void compute_on(void) {
	for (volatile unsigned long x = 1;; x = x * 3 + 1)
		;
}

int main(int count, char **arguments) {
	const char *mode = count > 1 ? arguments[1] : "allocate";
	lose_blocks();
	clear_stack();
	for (int i = 0; i < KEPT; i++)
		kept[i] = keep_block();
	puts("ready");
	fflush(stdout);
	if (strcmp(mode, "sleep") == 0)
		for (;;)
			pause();
	if (strcmp(mode, "compute") == 0)
		compute_on();
	allocate_on();
	return 0;
}
