/* SPDX-License-Identifier: MIT
 * computing.c [small] [THREADS] -- allocates, then computes in all its threads without allocating
 * and without a system call until SIGTERM, while computing.sh has a tool enter it.  Each round
 * fills registers and the red zone, counts down, and checks that nothing has changed.  Exits with 0
 * if all was well.  "small": its heap is below prof_state_min. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 3000, BLOCK_BYTES = 1000, SMALL_BLOCKS = 10, STEPS = 1000000, WORDS = 10 };

static void *volatile blocks[BLOCKS];
static volatile sig_atomic_t is_over;
static volatile int wrong;

static void on_end(int number) {
	(void)number;
	is_over = 1;
}

#if defined(__x86_64__)

typedef void round_t(const uint64_t *from, uint64_t *to);

/* Words 0 and 1: xmm3; 2: rbx; 3: r9; 4: r14; 5: the red zone; 6: the stack pointer's distance; 7:
 * the carry flag; 8 and 9: the upper half of ymm11, where there is one. */
#define ROUND(load_upper, store_upper)                                                             \
	"movdqu (%%rdi), %%xmm3\n" load_upper                                                      \
	"movq 16(%%rdi), %%rbx\n movq 24(%%rdi), %%r9\n movq 32(%%rdi), %%r14\n"                   \
	"movq 40(%%rdi), %%rax\n movq %%rax, -104(%%rsp)\n movq %%rsp, %%r10\n"                    \
	"movl %[steps], %%ecx\n"                                                                   \
	"stc\n"                                                                                    \
	"1: leal -1(%%ecx), %%ecx\n"                                                               \
	"jecxz 2f\n"                                                                               \
	"jmp 1b\n"                                                                                 \
	"2: setc %%al\n movzbl %%al, %%eax\n movq %%rax, 56(%%rsi)\n"                              \
	"movdqu %%xmm3, (%%rsi)\n" store_upper                                                     \
	"movq %%rbx, 16(%%rsi)\n movq %%r9, 24(%%rsi)\n movq %%r14, 32(%%rsi)\n"                   \
	"movq -104(%%rsp), %%rax\n movq %%rax, 40(%%rsi)\n"                                        \
	"subq %%rsp, %%r10\n movq %%r10, 48(%%rsi)\n"

static void round_of_sse(const uint64_t *from, uint64_t *to) {
	__asm__ volatile(ROUND("", "")
			 : "+D"(from), "+S"(to)
			 : [steps] "i"(STEPS)
			 : "rax", "rbx", "rcx", "r9", "r10", "r14", "xmm3", "cc", "memory");
}

static void round_of_avx(const uint64_t *from, uint64_t *to) {
	__asm__ volatile(ROUND("vbroadcastf128 64(%%rdi), %%ymm11\n",
			       "vextractf128 $1, %%ymm11, 64(%%rsi)\n vzeroupper\n")
			 : "+D"(from), "+S"(to)
			 : [steps] "i"(STEPS)
			 : "rax", "rbx", "rcx", "r9", "r10", "r14", "xmm3", "xmm11", "cc",
			   "memory");
}

static void *compute(void *unused) {
	uint64_t from[WORDS] = {0}, to[WORDS];
	round_t *round = __builtin_cpu_supports("avx") ? round_of_avx : round_of_sse;
	for (uint64_t i = 1; !is_over; i++) {
		for (unsigned j = 0; j < WORDS; j++)
			from[j] = j == 6   ? 0
				  : j == 7 ? 1
					   : i * UINT64_C(0x9e3779b97f4a7c15) * (j + 1);
		memcpy(to, from, sizeof(to));
		round(from, to);
		wrong |= memcmp(from, to, sizeof(to)) != 0;
	}
	return unused;
}

#else

static void *compute(void *unused) {
	while (!is_over) {
	}
	return unused;
}

#endif

int main(int argc, char **argv) {
	int is_small = argc > 1 && strcmp(argv[1], "small") == 0;
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	signal(SIGTERM, on_end);
	for (int i = 0; i < (is_small ? SMALL_BLOCKS : BLOCKS); i++)
		blocks[i] = memset(malloc(BLOCK_BYTES), 1, BLOCK_BYTES);
	for (int i = 1; i < threads; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, compute, NULL) != 0)
			return 2;
	}
	if (write(1, "ready\n", 6) != 6)
		return 2;
	compute(NULL);
	return wrong;
}
