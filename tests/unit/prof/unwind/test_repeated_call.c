/* SPDX-License-Identifier: MIT
 * test_repeated_call.c -- a thread that repeats a call with another time limit: its registers, its
 * stack as unwinders see it, and how many threads may do so. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

#include "os/file/proc.h"
#include "os/process/repeated_call.h"
#include "prof/unwind/unwind.h"
#include "state/layout.h"
#include "test.h"

#if defined(__x86_64__)

/* No thread has an id above 2^22. */
enum { DEPTH = 64, RECORDS = 1024, ENDED = 1 << 30 };
#define MS UINT64_C(1000000)

/* In the order in which the code below loads and stores them. */
typedef struct registers {
	uint64_t rax, rdi, rsi, rdx, r10, r8, rbp, rip, rsp;
} registers_t;
static uint64_t rest;

/* Has `stop` change the registers, and loads them. The system call is never reached by itself; the
 * repeated one goes on behind it. */
void go_on(registers_t *registers, void (*stop)(registers_t *registers));
extern const uint8_t program_call[], program_behind[];
__asm__("go_on:\n"
	".cfi_startproc\n"
	"pushq %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset rbp, -16\n"
	"pushq %rbx\n"
	".cfi_def_cfa_offset 24\n"
	".cfi_offset rbx, -24\n"
	"subq $8, %rsp\n"
	".cfi_def_cfa_offset 32\n"
	"movq %rdi, %rbx\n"
	"movq %rsp, 64(%rbx)\n"
	"call *%rsi\n"
	"movq 0(%rbx), %rax\n movq 8(%rbx), %rdi\n movq 16(%rbx), %rsi\n movq 24(%rbx), %rdx\n"
	"movq 32(%rbx), %r10\n movq 40(%rbx), %r8\n movq 48(%rbx), %rbp\n"
	"jmp *56(%rbx)\n"
	"program_call:\n"
	"syscall\n"
	"program_behind:\n"
	"movq %rax, 0(%rbx)\n movq %rdi, 8(%rbx)\n movq %rsi, 16(%rbx)\n movq %rdx, 24(%rbx)\n"
	"movq %r10, 32(%rbx)\n movq %r8, 40(%rbx)\n movq %rbp, 48(%rbx)\n"
	"movq %rcx, 56(%rbx)\n"
	"addq $8, %rsp\n"
	".cfi_def_cfa_offset 24\n"
	"popq %rbx\n"
	".cfi_def_cfa_offset 16\n"
	"popq %rbp\n"
	".cfi_def_cfa_offset 8\n"
	"ret\n"
	".cfi_endproc\n");

static mw_repeated_registers_t repeated;
static uint64_t frames[DEPTH];
static mw_unwind_result_t walk;
static bool was_seen; /* by libgcc's unwinder */

static _Unwind_Reason_Code see(struct _Unwind_Context *context, void *unused) {
	(void)unused;
	was_seen |= _Unwind_GetIP(context) == (uintptr_t)program_behind;
	return _URC_NO_REASON;
}

static void on_alarm(int number, siginfo_t *info, void *context) {
	(void)number;
	(void)info;
	const greg_t *now = ((const ucontext_t *)context)->uc_mcontext.gregs;
	walk = mw_unwind_capture_interrupted(context, frames, NULL, DEPTH);
	repeated = (mw_repeated_registers_t){.rip = (uint64_t)now[REG_RIP],
					     .rbp = (uint64_t)now[REG_RBP]};
	mw_repeated_call_original(&repeated);
	_Unwind_Backtrace(see, NULL);
}

/* Twice: a second stop may come before the thread has run. */
static void stop_twice(registers_t *registers) {
	mw_repeated_registers_t r = {.rip = (uintptr_t)program_call,
				     .rsp = registers->rsp,
				     .rbp = registers->rbp,
				     .rsi = registers->rsi,
				     .rdx = registers->rdx,
				     .r10 = registers->r10,
				     .r8 = registers->r8};
	for (uint64_t times = 2; times > 0; times--)
		CHECK(mw_repeated_call_begin(&r, mw_timed_call(SYS_epoll_wait), rest * times,
					     mw_os_process_id(), mw_os_thread_id()));
	CHECK(r.rip != (uintptr_t)program_call && r.rbp != 0x6666 && r.r8 == 0x8888);
	registers->rdx = r.rdx;
	registers->r10 = r.r10;
	registers->rbp = r.rbp;
	registers->rip = r.rip;
}

/* Waits by epoll_wait(2), asked for `limit_ms` and repeated with `rest_ns`. Returns the kernel's
 * result. */
static long wait_for(int limit_ms, uint64_t rest_ns) {
	struct epoll_event event;
	int set = epoll_create1(0);
	registers_t registers = {.rax = SYS_epoll_wait,
				 .rdi = (uint64_t)set,
				 .rsi = (uintptr_t)&event,
				 .rdx = 1,
				 .r10 = (uint64_t)limit_ms,
				 .r8 = 0x8888,
				 .rbp = 0x6666};
	rest = rest_ns;
	go_on(&registers, stop_twice);
	CHECK_EQ(registers.rdi, (uint64_t)set);
	CHECK_EQ(registers.rsi, (uintptr_t)&event);
	CHECK_EQ(registers.rdx, 1);
	CHECK_EQ(registers.r10, (uint64_t)limit_ms);
	CHECK_EQ(registers.r8, 0x8888);
	CHECK_EQ(registers.rbp, 0x6666);
	CHECK_EQ(registers.rip, (uintptr_t)program_behind); /* rcx, as the kernel has it */
	close(set);
	return (long)registers.rax;
}

static void test_registers(void) {
	CHECK_EQ(wait_for(1000000, 2 * MS), 0);
	CHECK_EQ(wait_for(1000000, 0), 0);
}

static void test_interrupted(void) {
	struct sigaction action = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO};
	const struct itimerval soon = {.it_value.tv_usec = 50000};
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
	CHECK_EQ(wait_for(-1, 100000 * MS), -EINTR);
	CHECK(was_seen);
	CHECK(!walk.truncated && walk.depth >= 4);
	CHECK_EQ(frames[1], (uintptr_t)program_behind);
	CHECK_EQ(repeated.rip, (uintptr_t)program_call);
	CHECK_EQ(repeated.rdx, 1);
	CHECK_EQ(repeated.r10, UINT32_MAX | (uint64_t)UINT32_MAX << 32);
}

static bool begin_as(uint32_t thread_id) {
	mw_repeated_registers_t r = {.rip = (uintptr_t)program_call, .rbp = 1};
	bool is_begun = mw_repeated_call_begin(&r, mw_timed_call(SYS_semtimedop), MS,
					       mw_os_process_id(), thread_id);
	CHECK(is_begun == (r.rip != (uintptr_t)program_call) && is_begun == (r.rbp != 1));
	return is_begun;
}

static void test_many(void) {
	for (unsigned i = 0; i < RECORDS; i++)
		CHECK(begin_as(ENDED + i));
	/* The records of threads that have ended are used again. */
	for (unsigned i = 0; i < RECORDS; i++)
		CHECK(begin_as(mw_os_thread_id()));
	CHECK(!begin_as(mw_os_thread_id()));
	CHECK(!begin_as(ENDED));
}

static void check_refused(uint64_t number, uint64_t rsi, uint64_t rdx) {
	mw_repeated_registers_t r = {.rip = (uintptr_t)program_call, .rsi = rsi, .rdx = rdx};
	const mw_repeated_registers_t before = r;
	CHECK(!mw_repeated_call_finish(&r, number, 10, mw_os_process_id(), mw_os_thread_id()));
	CHECK(memcmp(&r, &before, sizeof r) == 0);
}

/* What is not finished leaves no record in use. */
static void test_refused(void) {
	char byte;
	struct iovec parts[18], nothing = {&byte, 1};
	struct msghdr named = {.msg_name = &byte, .msg_iov = parts, .msg_iovlen = 2};
	struct msghdr controlled = {.msg_control = &byte, .msg_iov = parts, .msg_iovlen = 2};
	for (unsigned i = 0; i < 18; i++)
		parts[i] = (struct iovec){&byte + 100 * i, 10};
	for (unsigned i = 0; i < RECORDS; i++)
		check_refused(SYS_write, 1, 10);
	check_refused(SYS_writev, (uintptr_t)parts, 18);
	check_refused(SYS_writev, (uintptr_t)parts, 1);
	check_refused(SYS_writev, (uintptr_t)&nothing, 1);
	check_refused(SYS_writev, 8, 2);
	check_refused(SYS_sendmsg, (uintptr_t)&named, 0);
	check_refused(SYS_sendmsg, (uintptr_t)&controlled, 0);
	check_refused(SYS_sendmsg, 8, 0);
}

/* The first stop came after 15 bytes of 170, the second after 15 more. */
static void test_parts_that_remain(void) {
	char bytes[170];
	struct iovec parts[17];
	for (unsigned i = 0; i < 17; i++)
		parts[i] = (struct iovec){bytes + 10 * i, 10};
	mw_repeated_registers_t r = {
		.rip = (uintptr_t)program_call, .rbp = 5, .rsi = (uintptr_t)parts, .rdx = 17};
	for (unsigned i = 1; i <= 2; i++) {
		CHECK(mw_repeated_call_finish(&r, SYS_writev, 15, mw_os_process_id(), ENDED));
		const struct iovec *left = (const struct iovec *)r.rsi;
		CHECK(left != parts && r.rbp != 5 && r.rip != (uintptr_t)program_call);
		CHECK_EQ(r.rdx, 17 - 15 * i / 10);
		CHECK(left->iov_base == bytes + 15 * i && left[1].iov_len == 10);
		CHECK_EQ(left->iov_len, i == 1 ? 5 : 10);
		CHECK_EQ(parts[1].iov_len, 10);
	}
	mw_repeated_call_original(&r);
	CHECK(r.rip == (uintptr_t)program_call && r.rsi == (uintptr_t)parts && r.rdx == 17);
	CHECK_EQ(r.rbp, 5);
}

int main(void) {
	mw_unwind_start();
	RUN(test_refused);
	RUN(test_parts_that_remain);
	RUN(test_registers);
	RUN(test_interrupted);
	RUN(test_many);
	return 0;
}

#else

int main(void) {
	return 0;
}

#endif
