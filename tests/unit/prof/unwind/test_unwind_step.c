/* SPDX-License-Identifier: MIT
 * test_unwind_step.c -- the stack at places that a timer seldom meets: every single instruction of
 * calls through the PLT and of libc's functions, the vdso, calls that do not return. */
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/time.h>
#include <time.h>

#include "captured.h"
#include "frames.h"
#include "prof/unwind/unwind.h"
#include "state/layout.h"
#include "test.h"

static captured_t seen;

/* --- a call as the last instruction: its return address is the next function's ------------------
 */

static jmp_buf out;

static NOINLINE _Noreturn void leave(void) {
	seen.result = mw_unwind_capture(seen.pcs, MW_UNWIND_DEPTH_MAX);
	longjmp(out, 1);
}

static NOINLINE _Noreturn void ends_with_a_call(void) {
	leave();
}

static NOINLINE void calls_and_goes_on(void) {
	if (setjmp(out) == 0)
		ends_with_a_call();
	KEEP_FRAME();
}

static void test_noreturn_call(void) {
	for (unsigned i = 0; i < 3; i++) {
		calls_and_goes_on();
		CHECK(!seen.result.truncated);
		CHECK(is_in(seen.pcs[0], (const void *)leave, 200));
		CHECK(is_in(seen.pcs[1] - 1, (const void *)ends_with_a_call, 100));
		CHECK(is_in(seen.pcs[2], (const void *)calls_and_goes_on, 200));
	}
}

/* --- the vdso -----------------------------------------------------------------------------------
 */

static volatile unsigned in_vdso, vdso_lost, ticks;
static uintptr_t vdso;

static NOINLINE void ask_the_time(void) {
	struct timespec now;
	for (unsigned i = 0; i < 100; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
	KEEP_FRAME();
}

static void on_tick(int number) {
	static captured_t stack;
	(void)number;
	ticks++;
	stack.result = mw_unwind_capture(stack.pcs, MW_UNWIND_DEPTH_MAX);
	for (unsigned i = 0; i < stack.result.depth; i++)
		if ((stack.pcs[i] & MW_FRAME_EXACT) &&
		    is_in(stack.pcs[i], (const void *)vdso, 8192)) {
			in_vdso++;
			vdso_lost += stack.result.truncated ||
				     !holds(&stack, (const void *)ask_the_time);
		}
}

static void test_vdso(void) {
	vdso = getauxval(AT_SYSINFO_EHDR);
	if (vdso == 0) {
		printf("# skipped: there is no vdso here\n");
		return;
	}
	struct sigaction action = {.sa_handler = on_tick};
	struct itimerval interval = {{0, 200}, {0, 200}}, none = {0};
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &interval, NULL) == 0);
	while (ticks < 20000 && in_vdso < 50)
		ask_the_time();
	CHECK(setitimer(ITIMER_REAL, &none, NULL) == 0);
	printf("# %u of %u ticks in the vdso\n", in_vdso, ticks);
	CHECK(in_vdso > 0);
	CHECK_EQ(vdso_lost, 0);
}

/* --- every instruction --------------------------------------------------------------------------
 */

#if defined(__x86_64__)

static volatile unsigned steps, lost, rootless;
static volatile uint64_t lost_pc;

static NOINLINE void stepped(char *text, size_t size) {
	snprintf(text, size, "%d %s %g", 42, "text", 0.5);
	CHECK(strstr(text, "xt 0") != NULL);
	free(malloc(100));
	KEEP_FRAME();
}

/* With tables for its own push. */
#define SET_TRAP(operation)                                                                        \
	"pushfq\n\t.cfi_adjust_cfa_offset 8\n\t" operation                                         \
	", (%%rsp)\n\tpopfq\n\t.cfi_adjust_cfa_offset -8"

/* The processor traps after each instruction until the flag is taken back. */
static NOINLINE void steps_through(void) {
	char text[100];
	__asm__ volatile(SET_TRAP("orq $0x100")::: "memory", "cc");
	stepped(text, sizeof(text));
	__asm__ volatile(SET_TRAP("andq $~0x100")::: "memory", "cc");
	KEEP_FRAME();
}

static void on_step(int number) {
	static captured_t stack;
	(void)number;
	steps++;
	stack.result = mw_unwind_capture(stack.pcs, MW_UNWIND_DEPTH_MAX);
	if (stack.result.truncated) {
		lost++;
		for (unsigned i = 0; i < stack.result.depth; i++)
			if (stack.pcs[i] & MW_FRAME_EXACT)
				lost_pc = stack.pcs[i] & ~MW_FRAME_EXACT;
	} else if (!holds(&stack, (const void *)steps_through)) {
		rootless++;
	}
}

static void test_every_instruction(void) {
	char text[100];
	struct sigaction action = {.sa_handler = on_step};
	CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
	/* Lazy binding goes through ld.so's trampoline, whose CFA is in rbx: done before. */
	stepped(text, sizeof(text));
	steps_through();
	printf("# %u instructions: %u stacks cut, the last at %p; %u without their root\n", steps,
	       lost, (void *)(uintptr_t)lost_pc, rootless);
	CHECK(steps > 1000);
	CHECK_EQ(lost, 0);
	CHECK_EQ(rootless, 0);
}

#else

static void test_every_instruction(void) {
	printf("# skipped: no single steps on this processor\n");
}

#endif

int main(void) {
	mw_unwind_start();
	RUN(test_noreturn_call);
	RUN(test_vdso);
	RUN(test_every_instruction);
	return 0;
}
