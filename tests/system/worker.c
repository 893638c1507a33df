/* SPDX-License-Identifier: MIT
 * worker.c [sleep|compute] -- keeps 100 blocks and loses 60, and then allocates without end; or
 * sleeps, or computes without a call of the library. On a processor with SVE it computes with wide
 * registers, and aborts if one of them changes. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
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

#ifdef __aarch64__
#define HAS_SVE (1ul << 22) /* of AT_HWCAP */

/* Keeps values in whole registers of SVE for a while. Returns whether they are still there. */
static unsigned keep_wide(void) {
	unsigned changed, cleared;
	__asm__ volatile(".arch_extension sve\n"
			 "index z3.d, #5, #7\n"
			 "ptrue p5.b\n"
			 "mov x9, #0x100000\n"
			 "1: subs x9, x9, #1\n"
			 "b.ne 1b\n"
			 "index z4.d, #5, #7\n"
			 "ptrue p6.b\n"
			 "cmpne p7.d, p6/z, z3.d, z4.d\n"
			 "cset %w0, ne\n"
			 "eors p7.b, p6/z, p5.b, p6.b\n"
			 "cset %w1, ne\n"
			 : "=&r"(changed), "=&r"(cleared)
			 :
			 : "x9", "v3", "v4", "cc");
	return !changed && !cleared;
}
#endif

__attribute__((noinline)) static void compute_on(void) {
#ifdef __aarch64__
	while (getauxval(AT_HWCAP) & HAS_SVE)
		if (!keep_wide())
			abort();
#endif
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
