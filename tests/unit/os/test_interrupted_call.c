/* SPDX-License-Identifier: MIT
 * test_interrupted_call.c -- which calls a stop has interrupted, and how they go on. */
#include <string.h>
#include <time.h>

#include "os/platform/interrupted_call.h"
#include "test.h"

#if defined(__x86_64__)

static int interrupted(long number, long result) {
	mw_traced_registers_t r = {.orig_rax = (unsigned long long)number,
				   .rax = (unsigned long long)result};
	return mw_call_interrupted(&r);
}

static void test_kinds(void) {
	CHECK_EQ(interrupted(SYS_read, -MW_RESTART), MW_RESTART);
	CHECK_EQ(interrupted(SYS_nanosleep, -MW_RESTART_BLOCK), MW_RESTART_BLOCK);
	CHECK_EQ(interrupted(SYS_epoll_wait, -EINTR), MW_RESTART_NO_HANDLER);
	CHECK_EQ(interrupted(SYS_close, -EINTR), 0);
	CHECK_EQ(interrupted(SYS_read, 5), 0);
	CHECK_EQ(interrupted(-1, -EINTR), 0);
}

static bool may_be_cut(long number, long result, uint64_t rdx, uint64_t r10, uint64_t r8) {
	mw_traced_registers_t r = {.orig_rax = (unsigned long long)number,
				   .rax = (unsigned long long)result,
				   .rdx = rdx,
				   .r10 = r10,
				   .r8 = r8};
	return mw_call_may_be_cut(&r);
}

static void test_parts(void) {
	CHECK(may_be_cut(SYS_write, 5, 10, 0, 0));
	CHECK(may_be_cut(SYS_sendto, 5, 10, 0, 0));
	CHECK(may_be_cut(SYS_recvfrom, 5, 10, MSG_WAITALL, 0));
	CHECK(may_be_cut(SYS_recvmsg, 5, MSG_WAITALL, 0, 0));
	/* No part; another call; to an address; what has come is enough, or stays. */
	CHECK(!may_be_cut(SYS_write, 0, 10, 0, 0));
	CHECK(!may_be_cut(SYS_write, -EINTR, 10, 0, 0));
	CHECK(!may_be_cut(-1, 5, 10, 0, 0));
	CHECK(!may_be_cut(SYS_read, 5, 10, 0, 0));
	CHECK(!may_be_cut(SYS_sendto, 5, 10, 0, 0x1000));
	CHECK(!may_be_cut(SYS_recvfrom, 5, 10, 0, 0));
	CHECK(!may_be_cut(SYS_recvfrom, 5, 10, MSG_WAITALL | MSG_PEEK, 0));
	CHECK(!may_be_cut(SYS_recvmsg, 5, MSG_WAITALL | MSG_PEEK, 0, 0));
}

#else

#define PC UINT64_C(0xffff80001234)
#define SP UINT64_C(0xfffff0000000)

/* The thread slept in the call with the argument 7, and has been stopped with these registers. */
static int interrupted(long number, uint64_t x0, uint64_t x1, uint64_t x3, uint64_t pc) {
	const mw_sleeping_call_t before = {(uint64_t)number, 7, SP, PC};
	mw_traced_registers_t r = {.sp = SP, .pc = pc};
	r.regs[0] = x0;
	r.regs[1] = x1;
	r.regs[3] = x3;
	r.regs[8] = (uint64_t)number;
	int result = mw_call_interrupted(&r, &before);
	if (result != 0) {
		mw_call_repeat(&r, &before);
		CHECK_EQ(r.pc, PC - 4);
		CHECK_EQ(r.regs[0], 7);
	}
	return result;
}

static void test_kinds(void) {
	const uint64_t failed = (uint64_t)-EINTR, at = PC - 4;
	/* Calls that return EINTR. */
	CHECK_EQ(interrupted(SYS_epoll_pwait, failed, 0, 0, PC), MW_RESTART_NO_HANDLER);
	CHECK_EQ(interrupted(SYS_close, failed, 0, 0, PC), 0);
	CHECK_EQ(interrupted(SYS_epoll_pwait, 2, 0, 0, PC), 0);
	/* Calls to which the kernel has gone back. */
	CHECK_EQ(interrupted(SYS_read, 7, 0, 0, at), MW_RESTART);
	CHECK_EQ(interrupted(SYS_read, 8, 0, 0, at), 0);
	CHECK_EQ(interrupted(SYS_ppoll, 7, 0, 0, at), MW_RESTART_NO_HANDLER);
	CHECK_EQ(interrupted(SYS_epoll_pwait, 7, 0, 0, at), MW_RESTART_NO_HANDLER);
	CHECK_EQ(interrupted(SYS_nanosleep, 7, 0, 0, at), MW_RESTART_BLOCK);
	CHECK_EQ(interrupted(SYS_restart_syscall, 7, 0, 0, at), MW_RESTART_BLOCK);
	CHECK_EQ(interrupted(SYS_clock_nanosleep, 7, 0, 0, at), MW_RESTART_BLOCK);
	CHECK_EQ(interrupted(SYS_clock_nanosleep, 7, TIMER_ABSTIME, 0, at), MW_RESTART_NO_HANDLER);
	/* Locks: a wait, one with a relative limit, one with an absolute limit, one that no signal
	 * ends. */
	CHECK_EQ(interrupted(SYS_futex, 7, FUTEX_WAIT_PRIVATE, 0, at), MW_RESTART);
	CHECK_EQ(interrupted(SYS_futex, 7, FUTEX_WAIT_PRIVATE, 1, at), MW_RESTART_BLOCK);
	CHECK_EQ(interrupted(SYS_futex, 7, FUTEX_WAIT_BITSET_PRIVATE, 1, at),
		 MW_RESTART_NO_HANDLER);
	CHECK_EQ(interrupted(SYS_futex, 7, FUTEX_LOCK_PI_PRIVATE, 1, at), MW_RESTART_ALWAYS);
	/* Elsewhere. */
	CHECK_EQ(interrupted(SYS_read, 7, 0, 0, PC + 4), 0);
}

static void test_other_stacks(void) {
	const mw_sleeping_call_t before = {SYS_read, 7, SP, PC}, none = {0};
	mw_traced_registers_t r = {.sp = SP, .pc = PC - 4};
	r.regs[0] = 7;
	r.regs[8] = SYS_read;
	CHECK_EQ(mw_call_interrupted(&r, &before), MW_RESTART);
	CHECK_EQ(mw_call_interrupted(&r, &none), 0);
	r.sp -= 16; /* the handler of a signal runs */
	CHECK_EQ(mw_call_interrupted(&r, &before), 0);
}

#endif

int main(void) {
	RUN(test_kinds);
#if defined(__x86_64__)
	RUN(test_parts);
#else
	RUN(test_other_stacks);
#endif
	return 0;
}
