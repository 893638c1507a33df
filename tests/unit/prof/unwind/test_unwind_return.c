/* SPDX-License-Identifier: MIT
 * test_unwind_return.c -- generated code that keeps no frame pointer, and returns directly behind
 * its call: the code tells where its return address is. Python's trampolines for perf(1) are such
 * code. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "captured.h"
#include "frames.h"
#include "prof/unwind/unwind.h"
#include "test.h"

static captured_t seen;

static NOINLINE void capture(void) {
	seen.result = mw_unwind_capture(seen.pcs, MW_UNWIND_DEPTH_MAX);
	KEEP_FRAME();
}

#if defined(__x86_64__)
#include <signal.h>

enum { PAGE_BYTES = 4096 };

/* Each calls the function in rdi: sub $N,%rsp; call *%rdi; add $N,%rsp; ret. */
static const uint8_t short_code[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7,
				     0x48, 0x83, 0xc4, 0x08, 0xc3};
static const uint8_t long_code[] = {0x48, 0x81, 0xec, 0x08, 0x01, 0x00, 0x00, 0xff, 0xd7,
				    0x48, 0x81, 0xc4, 0x08, 0x01, 0x00, 0x00, 0xc3};
/* The last instruction but one is not an addition: nothing tells where the return address is. */
static const uint8_t other_code[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7,
				     0x48, 0x8d, 0x64, 0x24, 0x08, 0xc3};

typedef void code_t(void (*)(void));

/* Two pages, of which the second one cannot be read. */
static uint8_t *pages;

/* Writes code that ends with the last byte of the first page. */
static code_t *put(const uint8_t *bytes, size_t count) {
	uint8_t *start = pages + PAGE_BYTES - count;
	CHECK(mprotect(pages, PAGE_BYTES, PROT_READ | PROT_WRITE) == 0);
	memcpy(start, bytes, count);
	CHECK(mprotect(pages, PAGE_BYTES, PROT_READ | PROT_EXEC) == 0);
	code_t *code;
	memcpy(&code, &start, sizeof(start));
	return code;
}

/* Without a frame pointer of its own, and with another's that leads nowhere. */
static NOINLINE void call_code(code_t *code) {
	__asm__ volatile("pushq %%rbp\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset rbp, 0\n\t"
			 "movl $24, %%ebp\n\tsubq $8, %%rsp\n\t.cfi_adjust_cfa_offset 8\n\t"
			 "call *%1\n\t"
			 "addq $8, %%rsp\n\t.cfi_adjust_cfa_offset -8\n\t"
			 "popq %%rbp\n\t.cfi_adjust_cfa_offset -8\n\t.cfi_restore rbp"
			 :
			 : "D"(capture), "r"(code)
			 : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
	KEEP_FRAME();
}

static void check_whole(code_t *code, size_t bytes) {
	for (unsigned i = 0; i < 3; i++) {
		call_code(code);
		CHECK(!seen.result.truncated);
		CHECK(is_in(seen.pcs[0], (const void *)capture, 200));
		CHECK(is_in(seen.pcs[1], (const void *)code, bytes));
		CHECK(is_in(seen.pcs[2], (const void *)call_code, 300));
		CHECK(holds(&seen, (const void *)check_whole));
	}
}

static void test_short_addition(void) {
	check_whole(put(short_code, sizeof(short_code)), sizeof(short_code));
}

static void test_long_addition(void) {
	check_whole(put(long_code, sizeof(long_code)), sizeof(long_code));
}

static void test_other_code(void) {
	call_code(put(other_code, sizeof(other_code)));
	CHECK(seen.result.truncated);
	CHECK_EQ(seen.result.depth, 2);
}

/* A chain of frame pointers leads to an address that cannot be read. */
static void test_unreadable_code(void) {
	uintptr_t frame[] = {0, 0};
	frame[1] = (uintptr_t)pages + PAGE_BYTES + 16;
	code_t *code = put(other_code, sizeof(other_code));
	__asm__ volatile("pushq %%rbp\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset rbp, 0\n\t"
			 "movq %2, %%rbp\n\tsubq $8, %%rsp\n\t.cfi_adjust_cfa_offset 8\n\t"
			 "call *%1\n\t"
			 "addq $8, %%rsp\n\t.cfi_adjust_cfa_offset -8\n\t"
			 "popq %%rbp\n\t.cfi_adjust_cfa_offset -8\n\t.cfi_restore rbp"
			 :
			 : "D"(capture), "S"(code), "d"(frame)
			 : "rax", "rcx", "r8", "r9", "r10", "r11", "memory", "cc");
	CHECK_EQ(seen.result.depth, 3);
	CHECK_EQ(seen.pcs[2], frame[1]);
}

static volatile unsigned stopped, lost;
static uintptr_t code_start, code_limit;

static void on_step(int number, siginfo_t *info, void *context) {
	static captured_t stack;
	(void)number;
	(void)info;
	stack.result = mw_unwind_capture_interrupted(context, stack.pcs, NULL, MW_UNWIND_DEPTH_MAX);
	uintptr_t pc = stack.pcs[0] & ~MW_FRAME_EXACT;
	/* The two instructions behind the call. */
	if (pc < code_start || pc >= code_limit)
		return;
	stopped++;
	lost += stack.result.truncated || !holds(&stack, (const void *)call_code);
}

/* The processor traps after each instruction until the flag is taken back. */
static void test_interrupted(void) {
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
	CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
	code_t *code = put(short_code, sizeof(short_code));
	code_start = (uintptr_t)pages + PAGE_BYTES - 5;
	code_limit = code_start + 5;
	__asm__ volatile("pushfq\n\t.cfi_adjust_cfa_offset 8\n\torq $0x100, (%%rsp)\n\tpopfq\n\t"
			 ".cfi_adjust_cfa_offset -8" ::
				 : "memory", "cc");
	call_code(code);
	__asm__ volatile("pushfq\n\t.cfi_adjust_cfa_offset 8\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\t"
			 ".cfi_adjust_cfa_offset -8" ::
				 : "memory", "cc");
	CHECK_EQ(stopped, 2);
	CHECK_EQ(lost, 0);
}

int main(void) {
#ifndef __GLIBC__
	printf("# skipped: without _dl_find_object() an address outside of the table of objects "
	       "may "
	       "be that of an object\n");
	return 0;
#endif
	mw_unwind_start();
	pages = mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	CHECK(pages != MAP_FAILED);
	CHECK(mprotect(pages + PAGE_BYTES, PAGE_BYTES, PROT_NONE) == 0);
	RUN(test_short_addition);
	RUN(test_long_addition);
	RUN(test_other_code);
	RUN(test_unreadable_code);
	RUN(test_interrupted);
	return 0;
}

#else

/* Generated code keeps frame records there, which other tests follow. */
int main(void) {
	mw_unwind_start();
	capture();
	CHECK(!seen.result.truncated);
	printf("# skipped: code of another processor\n");
	return 0;
}
#endif
