/* SPDX-License-Identifier: MIT
 * enter.c -- stops a thread by ptrace(2), and points it to the library's entry code
 * (state/tool_entry.h). */
#include "live/process/enter.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "state/tool_entry.h"

#if defined(__x86_64__)

/* How long a thread may take to stop. One that waits for a disk does not stop before. */
#define STOP_WAIT_NS 500000000
#define LOOK_NS 1000000
/* Results by which the kernel tells itself that it has to repeat a system call. */
enum { RESTART = 512, RESTART_NO_INTERRUPT = 513, RESTART_NO_HANDLER = 514, RESTART_BLOCK = 516 };
#define SYSCALL_CODE_BYTES 2u
#define DIRECTION_AND_TRAP_FLAGS UINT64_C(0x500)

/* Returns a number of /proc/<pid>/status; -1 = it has no such line. */
static long status_number(int pid, const char *key) {
	char path[64], line[256];
	size_t length = strlen(key);
	long number = -1;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	FILE *file = fopen(path, "re");
	while (file != NULL && number < 0 && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, key, length) == 0 && line[length] == ':')
			number = strtol(line + length + 1, NULL, 10);
	if (file != NULL)
		fclose(file);
	return number;
}

static int say_refused(int pid, mw_error_t *error) {
	long tracer = status_number(pid, "TracerPid");
	if (errno != EPERM && errno != EACCES)
		return mw_error_set(error, "it cannot be woken: %s", strerror(errno));
	if (tracer > 0)
		return mw_error_set(
			error, "it cannot be woken, because process %ld traces it (gdb, strace)",
			tracer);
	return mw_error_set(error, "it cannot be woken, because this user may not trace it "
				   "(ptrace(2), kernel.yama.ptrace_scope); root may");
}

typedef struct range {
	uint64_t start, limit;
	bool is_code, grows;
} range_t;

/* Finds the mapping that holds the address. */
static bool find_mapping(int pid, uint64_t address, range_t *found) {
	char path[64], line[4096], access[8];
	bool is_found = false;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *file = fopen(path, "re");
	while (file != NULL && !is_found && fgets(line, sizeof(line), file) != NULL) {
		is_found = sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &found->start, &found->limit,
				  access) == 3 &&
			   address >= found->start && address < found->limit;
		found->is_code = is_found && access[2] == 'x';
		found->grows = is_found && strstr(line, "[stack]") != NULL;
	}
	if (file != NULL)
		fclose(file);
	return is_found;
}

/* Waits until the thread has stopped.  False: it has not, or has ended. */
static bool wait_stop(int thread, int *status) {
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	for (long past = 0; past < STOP_WAIT_NS; past += LOOK_NS) {
		pid_t result = waitpid(thread, status, __WALL | WNOHANG);
		if (result == thread)
			return WIFSTOPPED(*status);
		if (result < 0)
			return false;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* Sets the registers with which the thread goes on afterwards: it repeats the system call where the
 * kernel would.  False: the thread does not sleep in one. */
static bool resume_registers(int pid, struct user_regs_struct *r) {
	long result = -(long)r->rax;
	bool restarts = result == RESTART || result == RESTART_NO_INTERRUPT ||
			result == RESTART_NO_HANDLER || result == RESTART_BLOCK;
	if ((long)r->orig_rax < 0 || (!restarts && result != EINTR))
		return false;
	if (!restarts)
		return true;
	uint8_t code[SYSCALL_CODE_BYTES];
	uint64_t address = r->rip - SYSCALL_CODE_BYTES;
	struct iovec into = {code, sizeof(code)};
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): an address in the other process. */
	struct iovec from = {(void *)address, sizeof(code)};
	if (process_vm_readv(pid, &into, 1, &from, 1, 0) != (ssize_t)sizeof(code) ||
	    code[0] != 0x0f || code[1] != 0x05)
		return false;
	r->rip = address;
	r->rax = result == RESTART_BLOCK ? (uint64_t)SYS_restart_syscall : r->orig_rax;
	return true;
}

static mw_tool_entry_frame_t frame_of(const struct user_regs_struct *r) {
	return (mw_tool_entry_frame_t){
		.rax = r->rax,
		.rbx = r->rbx,
		.rcx = r->rcx,
		.rdx = r->rdx,
		.rsi = r->rsi,
		.rdi = r->rdi,
		.rbp = r->rbp,
		.r8 = r->r8,
		.r9 = r->r9,
		.r10 = r->r10,
		.r11 = r->r11,
		.r12 = r->r12,
		.r13 = r->r13,
		.r14 = r->r14,
		.r15 = r->r15,
		.rip = r->rip,
		.cs = r->cs,
		.rflags = r->eflags,
		.rsp = r->rsp,
		.ss = r->ss,
	};
}

/* Points a stopped thread to the entry code.  False: it does not sleep in a system call, its stack
 * has too little room, or the kernel refuses. */
static bool point(int pid, int thread, uint64_t entry_address) {
	struct user_regs_struct r;
	range_t stack;
	if (ptrace(PTRACE_GETREGS, thread, NULL, &r) != 0 || !find_mapping(pid, r.rsp, &stack) ||
	    (!stack.grows && r.rsp - stack.start < MW_TOOL_ENTRY_STACK_BYTES) ||
	    !resume_registers(pid, &r))
		return false;
	mw_tool_entry_frame_t frame = frame_of(&r);
	r.rsp = (r.rsp - MW_TOOL_ENTRY_RED_ZONE_BYTES - sizeof(frame)) &
		~(uint64_t)(MW_TOOL_ENTRY_ALIGN - 1);
	struct iovec from = {&frame, sizeof(frame)};
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): an address in the other process. */
	struct iovec into = {(void *)r.rsp, sizeof(frame)};
	if (process_vm_writev(pid, &from, 1, &into, 1, 0) != (ssize_t)sizeof(frame))
		return false;
	r.rip = entry_address;
	r.rax = 0;
	/* The kernel must not repeat a system call by itself. */
	r.orig_rax = UINT64_MAX;
	r.eflags &= ~DIRECTION_AND_TRAP_FLAGS;
	return ptrace(PTRACE_SETREGS, thread, NULL, &r) == 0;
}

typedef enum outcome { ENTERED, UNFIT, REFUSED } outcome_t;

static outcome_t try_thread(int pid, int thread, uint64_t entry_address) {
	int status = 0;
	if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0)
		return REFUSED;
	if (ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) != 0 || !wait_stop(thread, &status))
		return UNFIT; /* the kernel lets the thread go when this command ends */
	/* Else a signal arrives at this moment, or the whole process is stopped. */
	bool is_ours = status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP;
	bool is_done = is_ours && point(pid, thread, entry_address);
	int signal_number = status >> 16 == 0 ? WSTOPSIG(status) : 0;
	ptrace(PTRACE_DETACH, thread, NULL, (void *)(intptr_t)signal_number);
	return is_done ? ENTERED : UNFIT;
}

/* Tries the first thread, then the others. */
static outcome_t try_threads(int pid, uint64_t entry_address) {
	char path[64];
	outcome_t outcome = try_thread(pid, pid, entry_address);
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *threads = outcome == UNFIT ? opendir(path) : NULL;
	for (struct dirent *entry;
	     threads != NULL && outcome == UNFIT && (entry = readdir(threads)) != NULL;) {
		int thread = (int)strtol(entry->d_name, NULL, 10);
		if (thread > 0 && thread != pid)
			outcome = try_thread(pid, thread, entry_address);
	}
	if (threads != NULL)
		closedir(threads);
	return outcome;
}

int mw_process_enter(int pid, uint64_t entry_address, mw_error_t *error) {
	range_t code;
	if (status_number(pid, "Seccomp") > 0)
		return mw_error_set(error, "it is not woken, because it filters its system calls");
	if (entry_address == 0 || !find_mapping(pid, entry_address, &code) || !code.is_code)
		return mw_error_set(error, "it cannot be woken: its library has no code for that");
	switch (try_threads(pid, entry_address)) {
	case ENTERED:
		return 0;
	case REFUSED:
		return say_refused(pid, error);
	default:
		return mw_error_set(error, "it cannot be woken: it is stopped, or no thread of it "
					   "sleeps in a system call with room on its stack");
	}
}

#else

int mw_process_enter(int pid, uint64_t entry_address, mw_error_t *error) {
	(void)pid;
	(void)entry_address;
	return mw_error_set(error, "it cannot be woken on this processor");
}

#endif
