/* SPDX-License-Identifier: MIT
 * test_unwind_storm.c -- captures at whatever instruction a timer hits: prologues, epilogues, PLT
 * entries, libc's assembly, the vdso; and code without unwind tables. */
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "captured.h"
#include "frames.h"
#include "prof/unwind/unwind.h"
#include "state/layout.h"
#include "test.h"

static captured_t seen;

/* --- a timer against all kinds of code ----------------------------------------------------------
 */

#if defined(__x86_64__)
enum { SIGNALS = 3000, INTERVAL_US = 100, DIFFERENT_MAX = 30 };
#else /* in an emulator, a handler takes longer than that */
enum { SIGNALS = 200, INTERVAL_US = 5000, DIFFERENT_MAX = 10 };
#endif

static NOINLINE void workload(void);
static NOINLINE void storm(void);

static volatile unsigned storms, incomplete, rootless, different;
static volatile bool is_running;
static uint64_t incomplete_pc;

/* Is it what libgcc's unwinder finds?  But for the handler's frame, where the two calls are; and a
 * sanitizer's wrapper may be in libgcc's. */
static bool is_like(const captured_t *stack, void *const *pcs, int count) {
	unsigned depth = stack->result.depth;
	if (count < (int)depth)
		return false;
	for (unsigned i = 1; i < depth; i++)
		if ((stack->pcs[depth - i] & ~MW_FRAME_EXACT) !=
		    (uint64_t)(uintptr_t)pcs[(unsigned)count - i])
			return false;
	return true;
}

static void on_timer(int number) {
	static captured_t stack;
	static void *pcs[MW_UNWIND_DEPTH_MAX];
	(void)number;
	if (!is_running)
		return;
	stack.result = mw_unwind_capture(stack.pcs, MW_UNWIND_DEPTH_MAX);
	different += !is_like(&stack, pcs, backtrace(pcs, MW_UNWIND_DEPTH_MAX));
	storms++;
	if (stack.result.truncated) {
		incomplete++;
		for (unsigned i = 0; i < stack.result.depth; i++)
			if (stack.pcs[i] & MW_FRAME_EXACT)
				incomplete_pc = stack.pcs[i] & ~MW_FRAME_EXACT;
	} else if (!holds(&stack, (const void *)storm)) {
		rootless++;
	}
}

static int compare(const void *a, const void *b) {
	return *(const int *)a - *(const int *)b;
}

static NOINLINE unsigned fibonacci(unsigned n) {
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static NOINLINE void workload(void) {
	char text[200], copy[200];
	int numbers[64];
	struct timespec now;
	for (unsigned i = 0; i < 20; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
	for (int i = 0; i < 64; i++)
		numbers[i] = (i * 37) % 64;
	qsort(numbers, 64, sizeof(int), compare);
	snprintf(text, sizeof(text), "%d %s %f", numbers[3], "text", 1.0 / 3.0);
	memset(copy, 0, sizeof(copy));
	memmove(copy, text, strlen(text));
	CHECK(strcmp(copy, text) == 0);
	CHECK(strstr(copy, "text") != NULL);
	CHECK_EQ(fibonacci(10), 55);
	free(malloc(100 + (size_t)numbers[5]));
	KEEP_FRAME();
}

static NOINLINE void storm(void) {
	is_running = true;
	while (storms < SIGNALS)
		workload();
	is_running = false;
	KEEP_FRAME();
}

static void test_storm(void) {
	struct sigaction action = {.sa_handler = on_timer};
	struct itimerval interval = {{0, INTERVAL_US}, {0, INTERVAL_US}};
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	/* The first call loads libgcc, which no handler may. */
	void *first[1];
	CHECK_EQ(backtrace(first, 1), 1);
	CHECK(setitimer(ITIMER_REAL, &interval, NULL) == 0);
	storm();
	memset(&interval, 0, sizeof(interval));
	CHECK(setitimer(ITIMER_REAL, &interval, NULL) == 0);
	printf("# of %u stacks %u cut, the last at %p; %u without their root; %u not as libgcc's\n",
	       storms, incomplete, (void *)(uintptr_t)incomplete_pc, rootless, different);
	/* A whole stack always has the right root.  One in a hundred may be cut or differ: libc has
	 * a few instructions without tables, or with tables that are wrong. */
	CHECK_EQ(rootless, 0);
	CHECK(incomplete < SIGNALS / 100);
	CHECK(different < DIFFERENT_MAX);
}

/* --- code without unwind tables -----------------------------------------------------------------
 */

/* void call(void (*function)(void)): keeps a frame pointer, says nothing of it. */
void no_cfi_call(void (*function)(void));
/* Calls with a frame pointer of the caller's choice. */
void no_cfi_call_with(void (*function)(void), uintptr_t frame_pointer);
#if defined(__x86_64__)
__asm__(".text\n"
	"no_cfi_call:\n"
	"	pushq %rbp\n"
	"	movq %rsp, %rbp\n"
	"	call *%rdi\n"
	"	popq %rbp\n"
	"	ret\n"
	"no_cfi_call_with:\n"
	"	pushq %rbp\n"
	"	movq %rsi, %rbp\n"
	"	call *%rdi\n"
	"	popq %rbp\n"
	"	ret\n"
	".fill 64, 1, 0x90\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl no_cfi_call, no_cfi_call_with\n"
	"no_cfi_call:\n"
	"	stp x29, x30, [sp, -16]!\n"
	"	mov x29, sp\n"
	"	blr x0\n"
	"	ldp x29, x30, [sp], 16\n"
	"	ret\n"
	"no_cfi_call_with:\n"
	"	stp x29, x30, [sp, -16]!\n"
	"	mov x29, x1\n"
	"	blr x0\n"
	"	ldp x29, x30, [sp], 16\n"
	"	ret\n"
	".fill 16, 4, 0xd503201f\n");
#endif

static NOINLINE void capture(void) {
	seen.result = mw_unwind_capture(seen.pcs, MW_UNWIND_DEPTH_MAX);
	KEEP_FRAME();
}

static NOINLINE void call_without_cfi(void (*call)(void (*)(void))) {
	call(capture);
	KEEP_FRAME();
}

static void check_frame_pointer_walk(const void *code) {
	CHECK(!seen.result.truncated);
	CHECK(is_in(seen.pcs[0], (const void *)capture, 200));
	CHECK(is_in(seen.pcs[1], code, 16));
	CHECK(is_in(seen.pcs[2], (const void *)call_without_cfi, 200));
	CHECK(holds(&seen, (const void *)call_without_cfi));
}

static void test_frame_pointer(void) {
	for (unsigned i = 0; i < 3; i++) {
		call_without_cfi(no_cfi_call);
		check_frame_pointer_walk((const void *)no_cfi_call);
	}
}

/* The same code where no object is. */
static void test_generated_code(void) {
	const size_t bytes = 4096;
	void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	memcpy(page, (const void *)no_cfi_call, 32);
	__builtin___clear_cache(page, (char *)page + 32);
	CHECK(mprotect(page, bytes, PROT_READ | PROT_EXEC) == 0);
	void (*generated)(void (*)(void));
	memcpy(&generated, &page, sizeof(page));
	for (unsigned i = 0; i < 3; i++) {
		call_without_cfi(generated);
		check_frame_pointer_walk(page);
	}
	CHECK(munmap(page, bytes) == 0);
}

static void test_bad_frame_pointers(void) {
	uintptr_t loop[2];
	loop[0] = (uintptr_t)loop;
	loop[1] = (uintptr_t)no_cfi_call + 6;
	uintptr_t hole = (uintptr_t)mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static uintptr_t elsewhere[2];
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	const uintptr_t bad[] = {
		1,
		8,
		hole,
		hole + 4096,
		UINTPTR_MAX,
		UINTPTR_MAX - 7,
		~7ull,
		here + 3,
		here - 4096,
		here + (1u << 30),
		here + ((uintptr_t)1 << 45),
		(uintptr_t)1 << 63,
		(uintptr_t)elsewhere,
		(uintptr_t)no_cfi_call,
		0x7fffffffefffu & ~7u,
	};
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		no_cfi_call_with(capture, bad[i]);
		CHECK(seen.result.truncated);
		CHECK_EQ(seen.result.depth, 2);
		CHECK(is_in(seen.pcs[1], (const void *)no_cfi_call_with, 16));
	}
	/* One that leads to itself: goes round once at most. */
	no_cfi_call_with(capture, (uintptr_t)loop);
	CHECK(seen.result.truncated);
	CHECK(seen.result.depth <= 3);
	/* Zero is the mark of the outermost frame. */
	no_cfi_call_with(capture, 0);
	CHECK(!seen.result.truncated);
	CHECK_EQ(seen.result.depth, 2);
	CHECK(munmap((void *)hole, 8192) == 0);
}

/* The frame pointer stays on the stack that was left, as Go's does around calls of C. */
static void test_frame_pointer_to_another_stack(void) {
	const size_t bytes = 8192;
	uintptr_t *page =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	CHECK(mprotect((char *)page + 4096, 4096, PROT_NONE) == 0);
	uintptr_t *frame = page + 4096 / sizeof(uintptr_t) - 4;
	frame[0] = (uintptr_t)(frame + 2);
	frame[1] = (uintptr_t)no_cfi_call + 6;
	frame[2] = 0;
	frame[3] = (uintptr_t)no_cfi_call + 6;
	no_cfi_call_with(capture, (uintptr_t)frame);
	CHECK(!seen.result.truncated);
	CHECK_EQ(seen.result.depth, 4);
	CHECK_EQ(seen.pcs[2], frame[1]);
	CHECK_EQ(seen.pcs[3], frame[3]);
	/* Onto the unmapped page, and into nothing that is code. */
	frame[0] = (uintptr_t)(frame + 4);
	no_cfi_call_with(capture, (uintptr_t)frame);
	CHECK(seen.result.truncated);
	CHECK_EQ(seen.result.depth, 3);
	frame[1] = (uintptr_t)page;
	no_cfi_call_with(capture, (uintptr_t)frame);
	CHECK(seen.result.truncated);
	CHECK_EQ(seen.result.depth, 2);
	CHECK(munmap(page, bytes) == 0);
}

static void *all_again(void *argument) {
	test_frame_pointer();
	test_generated_code();
	test_bad_frame_pointers();
	test_frame_pointer_to_another_stack();
	return argument;
}

static void test_in_a_thread(void) {
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, all_again, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

int main(void) {
	mw_unwind_start();
	RUN(test_storm);
	RUN(test_frame_pointer);
	RUN(test_generated_code);
	RUN(test_bad_frame_pointers);
	RUN(test_frame_pointer_to_another_stack);
	RUN(test_in_a_thread);
	return 0;
}
