/* SPDX-License-Identifier: MIT
 * test_call_filter.c -- filters of system calls, and what the kernel does with the same programs.
 */
#include "live/enter/call_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#define LENGTH(program) (sizeof(program) / sizeof((program)[0]))
#define WORD(field) offsetof(struct seccomp_data, field)

/* mprotect(2) with PROT_EXEC fails, getppid(2) ends the process, all else is allowed. */
static const struct sock_filter program[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, WORD(nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 6),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, WORD(args[2])),
	BPF_STMT(BPF_ST, 3),
	BPF_STMT(BPF_LDX | BPF_MEM, 3),
	BPF_STMT(BPF_MISC | BPF_TXA, 0),
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static mw_filtered_call_t call_of(int number, uint64_t third) {
	return (mw_filtered_call_t){
		.name = "the call", .number = number, .known = 7, .arguments = {0, 4096, third}};
}

static mw_filter_answer_t answer(int number, uint64_t third) {
	mw_filtered_call_t call = call_of(number, third);
	return mw_filter_run(program, LENGTH(program), &call);
}

static void program_is_followed(void) {
	CHECK_EQ(answer(SYS_getppid, 0), MW_FILTER_KILLS);
	CHECK_EQ(answer(SYS_mprotect, PROT_READ), MW_FILTER_ALLOWS);
	CHECK_EQ(answer(SYS_mprotect, PROT_READ | PROT_EXEC), MW_FILTER_FAILS);
	CHECK_EQ(answer(SYS_getpid, 0), MW_FILTER_ALLOWS);
	mw_filtered_call_t call = {.name = "mprotect", .number = SYS_mprotect};
	CHECK_EQ(mw_filter_run(program, LENGTH(program), &call), MW_FILTER_UNKNOWN);
}

static void damaged_programs_end(void) {
	mw_filtered_call_t call = call_of(SYS_getpid, 0);
	const struct sock_filter far[] = {BPF_STMT(BPF_JMP | BPF_JA, UINT32_MAX)};
	const struct sock_filter zero[] = {BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0),
					   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	const struct sock_filter outside[] = {BPF_STMT(BPF_LD | BPF_MEM, BPF_MEMWORDS),
					      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	CHECK_EQ(mw_filter_run(far, 1, &call), MW_FILTER_UNKNOWN);
	CHECK_EQ(mw_filter_run(zero, 2, &call), MW_FILTER_UNKNOWN);
	CHECK_EQ(mw_filter_run(outside, 2, &call), MW_FILTER_UNKNOWN);
	CHECK_EQ(mw_filter_run(program, 0, &call), MW_FILTER_UNKNOWN);
	CHECK_EQ(mw_filter_run(program, LENGTH(program) - 1, &call), MW_FILTER_UNKNOWN);
}

/* The kernel's answers to a child that has the filter. */
static void kernel_agrees(void) {
	pid_t child = fork();
	if (child == 0) {
		struct sock_fprog filter = {LENGTH(program), (struct sock_filter *)program};
		void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
			_exit(1);
		if (mprotect(page, 4096, PROT_READ) != 0)
			_exit(2);
		if (mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0 || errno != EACCES)
			_exit(3);
		syscall(SYS_getppid);
		_exit(4);
	}
	int status;
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

int main(void) {
	RUN(program_is_followed);
	RUN(damaged_programs_end);
	RUN(kernel_agrees);
	return 0;
}
