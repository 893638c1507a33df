/* SPDX-License-Identifier: MIT
 * enter.c -- stops a thread by ptrace(2), checks whose it is, and points it to the library's entry
 * code (state/tool_entry.h). */
#include "live/enter/enter.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "live/enter/library_entry.h"
#include "live/process/process.h"
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

/* UNFIT: this thread, at this moment. The others: no thread of the process. */
typedef enum outcome { ENTERED, UNFIT, REFUSED, OTHER, EXCEEDS, NO_ENTRY } outcome_t;

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
static bool resume_registers(const mw_address_space_t *space, struct user_regs_struct *r) {
	long result = -(long)r->rax;
	bool restarts = result == RESTART || result == RESTART_NO_INTERRUPT ||
			result == RESTART_NO_HANDLER || result == RESTART_BLOCK;
	if ((long)r->orig_rax < 0 || (!restarts && result != EINTR))
		return false;
	if (!restarts)
		return true;
	uint8_t code[SYSCALL_CODE_BYTES];
	uint64_t address = r->rip - SYSCALL_CODE_BYTES;
	if (pread(space->memory, code, sizeof(code), (off_t)address) != (ssize_t)sizeof(code) ||
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

/* Returns whether there is room for the answer below the stack pointer. */
static bool has_room(const mw_address_space_t *space, uint64_t stack_pointer) {
	const mw_map_t *stack = mw_address_space_at(space, stack_pointer);
	return stack != NULL && stack->is_writable &&
	       (stack->is_stack || stack_pointer - stack->start >= MW_TOOL_ENTRY_STACK_BYTES);
}

/* Points a stopped thread to the entry code. The frame is written to the address space in
 * which the code was found: after an exec(2) of another thread nothing is written, and this thread
 * exists no more. */
static outcome_t point(const mw_reach_t *reach, const mw_address_space_t *space, int thread) {
	struct user_regs_struct r;
	uint64_t entry_address = mw_library_entry_find(space, reach);
	if (entry_address == 0)
		return NO_ENTRY;
	if (ptrace(PTRACE_GETREGS, thread, NULL, &r) != 0 || !has_room(space, r.rsp) ||
	    !resume_registers(space, &r))
		return UNFIT;
	mw_tool_entry_frame_t frame = frame_of(&r);
	r.rsp = (r.rsp - MW_TOOL_ENTRY_RED_ZONE_BYTES - sizeof(frame)) &
		~(uint64_t)(MW_TOOL_ENTRY_ALIGN - 1);
	if (pwrite(space->memory, &frame, sizeof(frame), (off_t)r.rsp) != (ssize_t)sizeof(frame))
		return UNFIT;
	r.rip = entry_address;
	r.rax = 0;
	/* The kernel must not repeat a system call by itself. */
	r.orig_rax = UINT64_MAX;
	r.eflags &= ~DIRECTION_AND_TRAP_FLAGS;
	return ptrace(PTRACE_SETREGS, thread, NULL, &r) == 0 ? ENTERED : UNFIT;
}

/* With the thread stopped: the process is still the one that was found, and may be entered. The
 * address space is opened before: it is the one that is checked here, because the stopped thread
 * would not outlive an exec(2). */
static outcome_t check_and_point(const mw_reach_t *reach, int thread) {
	mw_address_space_t space;
	outcome_t outcome = UNFIT;
	bool is_open = mw_address_space_open(thread, &space) == 0;
	if (!mw_reach_has_thread(reach, thread) || !mw_reach_holds(reach))
		outcome = OTHER;
	else if (mw_thread_exceeds_command(thread))
		outcome = EXCEEDS;
	else if (is_open)
		outcome = point(reach, &space, thread);
	mw_address_space_close(&space);
	return outcome;
}

static outcome_t try_thread(const mw_reach_t *reach, int thread) {
	int status = 0;
	if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0)
		return errno == ESRCH ? UNFIT : REFUSED;
	if (ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) != 0 || !wait_stop(thread, &status))
		return UNFIT; /* the kernel lets the thread go when this command ends */
	/* Else a signal arrives at this moment, or the whole process is stopped. */
	bool is_ours = status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP;
	outcome_t outcome = is_ours ? check_and_point(reach, thread) : UNFIT;
	int signal_number = status >> 16 == 0 ? WSTOPSIG(status) : 0;
	ptrace(PTRACE_DETACH, thread, NULL, (void *)(intptr_t)signal_number);
	return outcome;
}

/* Tries the first thread, then the others. */
static outcome_t try_threads(const mw_reach_t *reach) {
	char path[64];
	int pid = reach->key.pid;
	int first = mw_process_thread(pid);
	outcome_t outcome = try_thread(reach, first);
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *threads = outcome == UNFIT ? opendir(path) : NULL;
	for (struct dirent *entry;
	     threads != NULL && outcome == UNFIT && (entry = readdir(threads)) != NULL;) {
		int thread = (int)strtol(entry->d_name, NULL, 10);
		if (thread > 0 && thread != first && mw_reach_has_thread(reach, thread))
			outcome = try_thread(reach, thread);
	}
	if (threads != NULL)
		closedir(threads);
	return outcome;
}

static int enter(const mw_reach_t *reach, mw_error_t *error) {
	if (status_number(reach->key.pid, "Seccomp") > 0)
		return mw_error_set(error, "it is not woken, because it filters its system calls");
	switch (try_threads(reach)) {
	case ENTERED:
		return 0;
	case REFUSED:
		return say_refused(reach->key.pid, error);
	case OTHER:
		return mw_error_set(error, "it has ended, or has executed another program");
	case EXCEEDS:
		return mw_error_set(error, "it is not woken, because it has users, groups or "
					   "capabilities that this command lacks");
	case NO_ENTRY:
		return mw_error_set(error, "it cannot be woken: no library in it has the code for "
					   "that which this command knows");
	default:
		return mw_error_set(error, "it cannot be woken: it is stopped, or no thread of it "
					   "sleeps in a system call with room on its stack");
	}
}

int mw_process_enter(const mw_process_key_t *key, mw_error_t *error) {
	mw_reach_t reach;
	if (mw_reach_open(key, &reach, NULL) != 0)
		return mw_error_set(error, "it has ended, or has executed another program");
	int result = enter(&reach, error);
	mw_reach_close(&reach);
	return result;
}

#else

int mw_process_enter(const mw_process_key_t *key, mw_error_t *error) {
	(void)key;
	return mw_error_set(error, "it cannot be woken on this processor");
}

#endif
