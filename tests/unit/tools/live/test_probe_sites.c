/* SPDX-License-Identifier: MIT
 * test_probe_sites.c -- where a probe stands, in planted instruction sequences. */
#include "live/outside/code/probe_sites.h"
#include "test.h"

static void expect(const char *code, size_t bytes, unsigned arguments, bool skips_null,
		   uint32_t offset, bool is_emulated) {
	mw_probe_site_t site =
		mw_probe_site_find((const uint8_t *)code, bytes, arguments, skips_null);
	CHECK_EQ(site.is_emulated, is_emulated);
	CHECK_EQ(site.offset, offset);
}
#define EXPECT(code, arguments, skips_null, offset, is_emulated)                                   \
	expect(code, sizeof(code) - 1, arguments, skips_null, offset, is_emulated)

#define RET "\xc3"
#define PUSH_RBX "\x53"
#define PUSH_R12 "\x41\x54"
#define ENDBR64 "\xf3\x0f\x1e\xfa"
#define TEST_RDI "\x48\x85\xff"
#define TEST_RSI "\x48\x85\xf6"
#define JE_NEAR "\x0f\x84\x10\x00\x00\x00"
#define JE_SHORT "\x74\x10"
#define NOP "\x90"
#define NOP5 "\x0f\x1f\x44\x00\x00"
#define MOV_RAX_RDI "\x48\x89\xf8"            /* mov %rdi, %rax */
#define MOV_EDI_0 "\xbf\x00\x00\x00\x00"      /* mov $0, %edi */
#define MOV_DIL_1 "\x40\xb7\x01"              /* mov $1, %dil */
#define MOV_RSI_RDI "\x48\x89\xfe"            /* mov %rdi, %rsi */
#define SUB_RSP "\x48\x83\xec\x18"            /* sub $24, %rsp */
#define STORE "\x48\x89\x3d\x00\x00\x00\x00"  /* mov %rdi, 0(%rip) */
#define STORE_RED_ZONE "\x48\x89\x5c\x24\xf8" /* mov %rbx, -8(%rsp) */
#define LOAD "\x48\x8b\x05\x00\x00\x00\x00"   /* mov 0(%rip), %rax */
#define CMPB "\x80\x3d\x00\x00\x00\x00\x00"   /* cmpb $0, 0(%rip) */
#define JMP_INDIRECT "\xff\xe0"

static void the_first_that_is_emulated(void) {
	EXPECT(PUSH_RBX RET, MW_ARGUMENT_1, false, 0, true);
	EXPECT(PUSH_R12 RET, MW_ARGUMENT_1, false, 0, true);
	EXPECT(NOP RET, MW_ARGUMENT_1, false, 0, true);
	EXPECT("\xe9\x00\x00\x00\x00", MW_ARGUMENT_1, false, 0, true);
	EXPECT("\xeb\x10", MW_ARGUMENT_1, false, 0, true);
	EXPECT("\xe8\x00\x00\x00\x00", MW_ARGUMENT_1, false, 0, true);
	EXPECT(ENDBR64 PUSH_RBX RET, MW_ARGUMENT_1, false, 4, true);
	EXPECT(MOV_RAX_RDI PUSH_R12 RET, MW_ARGUMENT_1, false, 3, true);
	EXPECT(LOAD CMPB PUSH_RBX RET, MW_ARGUMENT_1, false, 14, true);
	EXPECT(CMPB JE_SHORT RET, MW_ARGUMENT_1, false, 7, true);
	/* A nop of five bytes is passed, not probed. */
	EXPECT(NOP5 PUSH_RBX RET, MW_ARGUMENT_1, false, 5, true);
}

static void none_behind_what_changes_something(void) {
	EXPECT(MOV_EDI_0 PUSH_RBX RET, MW_ARGUMENT_1, false, 0, false);
	EXPECT(MOV_DIL_1 PUSH_RBX RET, MW_ARGUMENT_1, false, 0, false);
	EXPECT(MOV_EDI_0 PUSH_RBX RET, MW_ARGUMENT_2, false, 5, true);
	EXPECT(MOV_RSI_RDI PUSH_RBX RET, MW_ARGUMENT_1 | MW_ARGUMENT_2, false, 0, false);
	EXPECT(MOV_RSI_RDI PUSH_RBX RET, MW_ARGUMENT_1, false, 3, true);
	EXPECT(SUB_RSP PUSH_RBX RET, MW_ARGUMENT_1, false, 0, false);
	EXPECT(STORE PUSH_RBX RET, MW_ARGUMENT_1, false, 0, false);
	EXPECT(STORE_RED_ZONE PUSH_RBX RET, MW_ARGUMENT_1, false, 0, false);
	EXPECT(RET PUSH_RBX, MW_ARGUMENT_1, false, 0, false);
	EXPECT(JMP_INDIRECT PUSH_RBX, MW_ARGUMENT_1, false, 0, false);
	/* No instruction, and one that is cut. */
	EXPECT("\x06" PUSH_RBX, MW_ARGUMENT_1, false, 0, false);
	EXPECT("\x48\x8b", MW_ARGUMENT_1, false, 0, false);
	EXPECT("", MW_ARGUMENT_1, false, 0, false);
}

static void behind_the_test_for_null(void) {
	EXPECT(TEST_RDI JE_NEAR PUSH_RBX RET, MW_ARGUMENT_1, true, 9, true);
	EXPECT(TEST_RDI JE_SHORT PUSH_RBX RET, MW_ARGUMENT_1, true, 5, true);
	EXPECT(ENDBR64 TEST_RDI JE_NEAR PUSH_RBX RET, MW_ARGUMENT_1, true, 13, true);
	/* All calls, where those with NULL are wanted, and where another argument is tested. */
	EXPECT(TEST_RDI JE_NEAR PUSH_RBX RET, MW_ARGUMENT_1, false, 3, true);
	EXPECT(TEST_RSI JE_NEAR PUSH_RBX RET, MW_ARGUMENT_1, true, 3, true);
	/* With nothing cheap behind it, the jump itself. */
	EXPECT(TEST_RDI JE_NEAR SUB_RSP PUSH_RBX RET, MW_ARGUMENT_1, true, 3, true);
}

static void glibc_and_others(void) {
	/* free of Debian 12's glibc, aligned_alloc of musl. */
	EXPECT(TEST_RDI JE_NEAR "\x55\x48\x8d\x77\xf0\x53\x48\x83\xec\x18", MW_ARGUMENT_1, true, 9,
	       true);
	EXPECT("\x41\x57\x41\x56", MW_ARGUMENT_2, false, 0, true);
}

int main(void) {
	RUN(the_first_that_is_emulated);
	RUN(none_behind_what_changes_something);
	RUN(behind_the_test_for_null);
	RUN(glibc_and_others);
	return 0;
}
