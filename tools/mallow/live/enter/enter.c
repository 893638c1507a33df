/* SPDX-License-Identifier: MIT
 * enter.c -- stops a thread by ptrace(2), checks whose it is, and points it to the library's entry
 * code (state/tool_entry.h). */
#include "live/enter/enter.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "live/enter/apart.h"
#include "live/enter/call_limit.h"
#include "live/enter/library_entry.h"
#include "live/enter/stack_room.h"
#include "live/process/process.h"
#include "model/monotonic.h"
#include "os/platform/interrupted_call.h"
#include "state/tool_entry.h"

#if defined(__x86_64__)

/* How long a thread may take to stop: on a busy machine it waits for a processor. */
#define STOP_WAIT_NS UINT64_C(2000000000)
#define LOOK_FIRST_NS 50000
#define LOOK_NS 1000000
/* How long threads are tried. One that is seen to have no room takes 0.05 ms, one that is stopped
 * for that 2 ms in a process of a thousand threads. */
#define TRY_NS UINT64_C(500000000)
/* Most time for all that: one thread may take STOP_WAIT_NS more. */
#define LIMIT_MS 5000
#define NEEDS_NO_WAKING                                                                            \
	"a program that is started with MALLOW_CONF=background_thread:true needs no waking"
/* PTRACE_GET_RSEQ_CONFIGURATION: Linux 5.13 and later. */
#define GET_RSEQ_CONFIGURATION 0x420f
#define DIRECTION_AND_TRAP_FLAGS UINT64_C(0x500)
/* Registers of floating point, as xsave64 writes them: with AVX-512 2.7 KiB, with AMX 11 KiB. */
enum { VECTORS_MIN_BYTES = 576, VECTORS_MAX_BYTES = 16384 };

/* Returns a number of /proc/<pid>/status, of a process or a thread; -1 = it has no such line. */
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

/* Returns whether the thread has a shadow stack, by which the processor checks iretq. */
static bool has_shadow_stack(int thread) {
	char path[64], line[256];
	bool has_one = false;
	snprintf(path, sizeof(path), "/proc/%d/status", thread);
	FILE *file = fopen(path, "re");
	while (file != NULL && !has_one && fgets(line, sizeof(line), file) != NULL)
		has_one = strncmp(line, "x86_Thread_features:", 20) == 0 &&
			  strstr(line, "shstk") != NULL;
	if (file != NULL)
		fclose(file);
	return has_one;
}

/* `why`: errno of ptrace(2). */
static int say_refused(int pid, int why, mw_error_t *error) {
	long tracer = status_number(pid, "TracerPid");
	if (why != EPERM && why != EACCES)
		return mw_error_set(error, "it cannot be woken: %s", strerror(why));
	if (tracer > 0)
		return mw_error_set(
			error, "it cannot be woken, because process %ld traces it (gdb, strace)",
			tracer);
	return mw_error_set(
		error, "it cannot be woken, because this user may not trace it "
		       "(ptrace(2), kernel.yama.ptrace_scope); root may, and " NEEDS_NO_WAKING);
}

static int say_other(const mw_process_key_t *key, mw_error_t *error) {
	return mw_error_set(error, "it has %s", mw_process_end(key->pid, key->start_ticks));
}

/* Returns whether the thread answers another command. A stop would take from it what the kernel
 * keeps of the program's call. */
static bool is_answering(int thread) {
	const uint64_t never_blocked = UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1);
	char path[64], line[256];
	uint64_t blocked = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", thread);
	FILE *file = fopen(path, "re");
	while (file != NULL && blocked == 0 && fgets(line, sizeof(line), file) != NULL)
		sscanf(line, "SigBlk: %" SCNx64, &blocked);
	if (file != NULL)
		fclose(file);
	return blocked == (MW_TOOL_ENTRY_BLOCKED & ~never_blocked);
}

/* UNFIT, PAUSED, FILTERED, SHADOWED: this thread, at this moment. Those behind: no thread of the
 * process. */
typedef enum outcome {
	ENTERED,
	UNFIT,
	PAUSED,
	FILTERED,
	SHADOWED,
	REFUSED,
	OTHER,
	EXCEEDS,
	NO_ENTRY
} outcome_t;

/* Waits until the thread has stopped.  False: it has not, or has ended. */
static bool wait_stop(int thread, int *status) {
	struct timespec pause = {.tv_nsec = LOOK_FIRST_NS};
	uint64_t until_ns = mw_monotonic_ns() + STOP_WAIT_NS;
	do {
		pid_t result = waitpid(thread, status, __WALL | WNOHANG);
		if (result == thread)
			return WIFSTOPPED(*status);
		if (result < 0)
			return false;
		nanosleep(&pause, NULL);
		pause.tv_nsec = pause.tv_nsec * 2 < LOOK_NS ? pause.tv_nsec * 2 : LOOK_NS;
	} while (mw_monotonic_ns() < until_ns);
	return false;
}

/* Linux 5.2 and later tell the signals that a thread blocks outside of calls such as
 * epoll_pwait(2), which block others for a moment. */
static bool tells_blocked_signals(void) {
	struct utsname system;
	int major = 0, minor = 0;
	return uname(&system) == 0 && sscanf(system.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 2));
}

/* Returns whether the thread runs in a restartable sequence (rseq(2)), of which the kernel would
 * lose the end. True if that is not known. */
static bool is_in_sequence(const mw_address_space_t *space, int thread, uint64_t rip) {
	struct {
		uint64_t pointer;
		uint32_t size, signature, flags, pad;
	} area = {0};
	struct {
		uint32_t version, flags;
		uint64_t start, bytes, abort;
	} sequence;
	uint64_t pointer;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): a size. */
	if (ptrace((enum __ptrace_request)GET_RSEQ_CONFIGURATION, thread, (void *)sizeof(area),
		   &area) < 0)
		return true;
	if (area.pointer == 0)
		return false;
	if (pread(space->memory, &pointer, sizeof(pointer), (off_t)(area.pointer + 8)) !=
	    (ssize_t)sizeof(pointer))
		return true;
	return pointer != 0 && (pread(space->memory, &sequence, sizeof(sequence), (off_t)pointer) !=
					(ssize_t)sizeof(sequence) ||
				rip - sequence.start < sequence.bytes);
}

/* Returns whether a thread that does not sleep may be entered where it is. */
static bool is_fit_running(const mw_address_space_t *space, int thread,
			   const struct user_regs_struct *r) {
	const mw_map_t *code = mw_address_space_at(space, r->rip);
	return code != NULL && code->is_code && r->fs_base != 0 &&
	       !is_in_sequence(space, thread, r->rip);
}

/* Has the thread repeat an interrupted call afterwards. False: the instruction before is no system
 * call. */
static bool repeat_call(const mw_address_space_t *space, int restart, struct user_regs_struct *r) {
	uint8_t code[MW_SYSCALL_CODE_BYTES];
	uint64_t address = r->rip - MW_SYSCALL_CODE_BYTES;
	if (pread(space->memory, code, sizeof(code), (off_t)address) != (ssize_t)sizeof(code) ||
	    code[0] != 0x0f || code[1] != 0x05)
		return false;
	r->rip = address;
	r->rax = restart == MW_RESTART_BLOCK ? (uint64_t)SYS_restart_syscall : r->orig_rax;
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

/* A thread that is tried. */
typedef struct candidate {
	int pid, id;
	const mw_sleepers_t *all; /* of its process */
	mw_asleep_t asleep;       /* before it was stopped */
} candidate_t;

/* Returns whether there is room for the answer below the stack pointer. Known stacks are the
 * kernel's of the first thread, and those that have the thread's own data at their top and a guard
 * below, as threads of libc have. Any other, such as a coroutine's or an alternate one of signals,
 * may be a small part of its mapping, with other data below. */
static bool has_room(const mw_address_space_t *space, const candidate_t *thread,
		     const struct user_regs_struct *r) {
	const mw_map_t *stack = mw_address_space_at(space, r->rsp);
	return mw_stack_may_have_room(space, thread->pid, thread->all, thread->id, r->rsp) &&
	       (stack->is_stack || (r->fs_base > r->rsp && r->fs_base < stack->limit));
}

/* Says in the frame what remains of the time limit of a call that begins anew. */
static void note_limit(mw_tool_entry_frame_t *frame, const candidate_t *thread, uint64_t number) {
	const mw_timed_call_t *call = mw_timed_call(number);
	if (call == NULL || thread->asleep.number != number)
		return;
	frame->rest_ns = mw_asleep_rest_ns(thread->pid, thread->id, &thread->asleep);
}

/* What is written to the thread's stack. */
typedef struct stack_part {
	mw_tool_entry_frame_t frame;
	uint8_t vectors[VECTORS_MAX_BYTES];
} stack_part_t;
_Static_assert(offsetof(stack_part_t, vectors) == MW_TOOL_ENTRY_FRAME_BYTES, "as the code has it");

/* Makes what is written to the stack of a stopped thread. Returns its bytes; 0: the thread is not
 * fit at this moment. */
static size_t make_part(const mw_address_space_t *space, const candidate_t *thread,
			struct user_regs_struct *r, stack_part_t *part) {
	uint64_t number = r->orig_rax;
	int restart = mw_call_interrupted(r);
	struct iovec vectors = {part->vectors, sizeof(part->vectors)};
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the number of a set of registers. */
	if (ptrace(PTRACE_GETREGSET, thread->id, (void *)NT_X86_XSTATE, &vectors) != 0 ||
	    vectors.iov_len < VECTORS_MIN_BYTES || vectors.iov_len == sizeof(part->vectors) ||
	    (restart != 0 ? !repeat_call(space, restart, r)
			  : !is_fit_running(space, thread->id, r)))
		return 0;
	part->frame = frame_of(r);
	part->frame.restart = (uint32_t)restart;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): a size. */
	part->frame.has_blocked = tells_blocked_signals() &&
				  ptrace(PTRACE_GETSIGMASK, thread->id, (void *)sizeof(uint64_t),
					 &part->frame.blocked_signals) == 0;
	if (restart != 0)
		note_limit(&part->frame, thread, number);
	return sizeof(part->frame) + vectors.iov_len;
}

/* Points a stopped thread to the entry code. The frame is written to the address space in
 * which the code was found: after an exec(2) of another thread nothing is written, and this thread
 * exists no more. */
static outcome_t point(const mw_reach_t *reach, const mw_address_space_t *space,
		       const candidate_t *thread) {
	struct user_regs_struct r;
	_Alignas(64) stack_part_t part = {0};
	uint64_t entry_address = mw_library_entry_find(space, reach);
	if (entry_address == 0)
		return NO_ENTRY;
	if (ptrace(PTRACE_GETREGS, thread->id, NULL, &r) != 0 || !has_room(space, thread, &r))
		return UNFIT;
	size_t bytes = make_part(space, thread, &r, &part);
	r.rsp = (r.rsp - MW_TOOL_ENTRY_RED_ZONE_BYTES - bytes) &
		~(uint64_t)(MW_TOOL_ENTRY_ALIGN - 1);
	if (bytes == 0 || pwrite(space->memory, &part, bytes, (off_t)r.rsp) != (ssize_t)bytes)
		return UNFIT;
	r.rip = entry_address;
	r.rax = 0;
	/* The kernel must not repeat a system call by itself. */
	r.orig_rax = UINT64_MAX;
	r.eflags &= ~DIRECTION_AND_TRAP_FLAGS;
	if (ptrace(PTRACE_SETREGS, thread->id, NULL, &r) != 0)
		return UNFIT;
	/* The last step: a command that is killed before leaves no signal blocked. */
	uint64_t blocked = part.frame.blocked_signals | MW_TOOL_ENTRY_BLOCKED;
	if (part.frame.has_blocked)
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): a size. */
		ptrace(PTRACE_SETSIGMASK, thread->id, (void *)sizeof(blocked), &blocked);
	return ENTERED;
}

/* A thread that is only let go repeats a call that would return EINTR because of the stop. */
static void let_call_repeat(int thread) {
	struct user_regs_struct r;
	if (ptrace(PTRACE_GETREGS, thread, NULL, &r) != 0 || (long)r.rax != -EINTR ||
	    mw_call_interrupted(&r) == 0)
		return;
	r.rax = (uint64_t)-MW_RESTART_NO_HANDLER;
	ptrace(PTRACE_SETREGS, thread, NULL, &r);
}

/* With the thread stopped: the process is still the one that was found, and may be entered. The
 * address space is opened before: it is the one that is checked here, because the stopped thread
 * would not outlive an exec(2). */
static outcome_t check_and_point(const mw_reach_t *reach, const candidate_t *thread) {
	mw_address_space_t space;
	outcome_t outcome = UNFIT;
	bool is_open = mw_address_space_open(thread->id, &space) == 0;
	if (!mw_reach_has_thread(reach, thread->id) || !mw_reach_holds(reach))
		outcome = OTHER;
	else if (mw_thread_exceeds_command(thread->id))
		outcome = EXCEEDS;
	else if (is_open)
		outcome = point(reach, &space, thread);
	mw_address_space_close(&space);
	return outcome;
}

/* Returns the letter of the thread's state (proc(5)); 0: unknown. */
static char state_of(int pid, int thread) {
	char path[96], text[512];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, thread);
	FILE *file = fopen(path, "re");
	size_t bytes = file != NULL ? fread(text, 1, sizeof(text) - 1, file) : 0;
	text[bytes] = '\0';
	if (file != NULL)
		fclose(file);
	const char *end = strrchr(text, ')');
	return end != NULL && end[1] == ' ' ? end[2] : '\0';
}

/* Returns whether a thread that sleeps is seen to have no room, without stopping it. `space` is
 * that of a moment ago. */
static bool has_no_room(const mw_address_space_t *space, const candidate_t *thread) {
	uint64_t rsp = mw_sleeper_stack_pointer(thread->pid, thread->id);
	return mw_address_space_at(space, rsp) != NULL &&
	       !mw_stack_may_have_room(space, thread->pid, thread->all, thread->id, rsp);
}

static outcome_t try_thread(const mw_reach_t *reach, const mw_address_space_t *space,
			    const mw_sleepers_t *all, int id) {
	int status = 0;
	candidate_t thread = {.pid = reach->key.pid, .id = id, .all = all};
	char state = state_of(thread.pid, id);
	/* One that waits for a disk would stop later, and wait for this command to end. */
	if (state != 'S' && state != 'R')
		return state == 'T' || state == 't' ? PAUSED : UNFIT;
	if (state == 'S' && has_no_room(space, &thread))
		return UNFIT;
	if (status_number(id, "Seccomp") > 0)
		return FILTERED;
	if (has_shadow_stack(id))
		return SHADOWED;
	if (is_answering(id))
		return UNFIT;
	if (state == 'S')
		thread.asleep = mw_asleep_read(thread.pid, id);
	if (ptrace(PTRACE_SEIZE, id, NULL, NULL) != 0)
		return errno == ESRCH ? UNFIT : REFUSED;
	if (ptrace(PTRACE_INTERRUPT, id, NULL, NULL) != 0 || !wait_stop(id, &status))
		return UNFIT; /* the kernel lets the thread go when this command ends */
	/* Else a signal arrives at this moment, or the whole process is stopped. */
	bool is_ours = status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP;
	/* At once: a command that is killed from here on leaves no call that returns EINTR. */
	let_call_repeat(id);
	outcome_t outcome = is_ours ? check_and_point(reach, &thread) : UNFIT;
	int signal_number = status >> 16 == 0 ? WSTOPSIG(status) : 0;
	ptrace(PTRACE_DETACH, id, NULL, (void *)(intptr_t)signal_number);
	return outcome;
}

/* True: another thread may be entered. */
static bool is_of_thread(outcome_t outcome) {
	return outcome == UNFIT || outcome == PAUSED || outcome == FILTERED || outcome == SHADOWED;
}

static size_t common_divisor(size_t a, size_t b) {
	while (b != 0) {
		size_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* Returns a step that leads to each of `count` things once, and far from the one before: threads
 * that began one after another are alike. */
static size_t step_through(size_t count) {
	size_t step = count * 5 / 8 + 1;
	while (common_divisor(step, count) != 1)
		step++;
	return step;
}

/* Tries the first thread, then others for some time, from another one on each time. Sets
 * *why_refused with REFUSED: errno of ptrace(2). */
static outcome_t try_threads(const mw_reach_t *reach, int *why_refused) {
	int pid = reach->key.pid;
	uint64_t begin_ns = mw_monotonic_ns();
	mw_address_space_t space;
	mw_address_space_open(mw_process_thread(pid), &space);
	int first = mw_process_thread(pid);
	mw_sleepers_t threads = mw_sleepers_list(pid);
	outcome_t outcome = try_thread(reach, &space, &threads, first);
	size_t step = step_through(threads.count);
	size_t at = threads.count > 0 ? begin_ns / 1000 % threads.count : 0;
	for (size_t i = 0;
	     i < threads.count && is_of_thread(outcome) && mw_monotonic_ns() - begin_ns < TRY_NS;
	     i++, at = (at + step) % threads.count) {
		int thread = threads.items[at].id;
		if (thread == first || !mw_reach_has_thread(reach, thread))
			continue;
		outcome_t result = try_thread(reach, &space, &threads, thread);
		/* What keeps any thread from being entered tells more. */
		outcome = result != UNFIT ? result : outcome;
	}
	*why_refused = errno;
	free(threads.items);
	mw_address_space_close(&space);
	return outcome;
}

static int say_outcome(const mw_reach_t *reach, outcome_t outcome, int why_refused,
		       mw_error_t *error) {
	switch (outcome) {
	case ENTERED:
		return 0;
	case REFUSED:
		return say_refused(reach->key.pid, why_refused, error);
	case PAUSED:
		return mw_error_set(error, "it cannot be woken: it is stopped, by a signal or a "
					   "debugger");
	case FILTERED:
		return mw_error_set(
			error,
			"it is not woken, because it filters its system calls; " NEEDS_NO_WAKING);
	case SHADOWED:
		return mw_error_set(
			error, "it is not woken, because it has shadow stacks; " NEEDS_NO_WAKING);
	case OTHER:
		return say_other(&reach->key, error);
	case EXCEEDS:
		return mw_error_set(error, "it is not woken, because it has users, groups or "
					   "capabilities that this command lacks");
	case NO_ENTRY:
		return mw_error_set(error, "it cannot be woken: no library in it has the code for "
					   "that which this command knows");
	default:
		return mw_error_set(error, "it cannot be woken: none of the threads that were "
					   "tried is at a place with room on its stack where it "
					   "could answer; " NEEDS_NO_WAKING);
	}
}

static mw_apart_outcome_t enter_apart(const void *reach, mw_error_t *error) {
	int why_refused = 0;
	outcome_t outcome = try_threads(reach, &why_refused);
	if (say_outcome(reach, outcome, why_refused, error) == 0)
		return MW_APART_DONE;
	return outcome == REFUSED ? MW_APART_REFUSED : MW_APART_FAILED;
}

/* A command that was killed while a thread is stopped would leave a call of that thread that
 * returns EINTR. So another process does it, unless only this one is permitted to: an ancestor of
 * the process (kernel.yama.ptrace_scope). */
int mw_process_enter(const mw_process_key_t *key, mw_error_t *error) {
	mw_reach_t reach;
	if (mw_reach_open(key, &reach, NULL) != 0)
		return say_other(key, error);
	mw_apart_outcome_t outcome = mw_apart_do(enter_apart, &reach, LIMIT_MS, error);
	bool is_in_thread = outcome == MW_APART_REFUSED;
	if (is_in_thread)
		outcome =
			mw_apart_do_in_thread(enter_apart, &reach, sizeof(reach), LIMIT_MS, error);
	if (outcome == MW_APART_LATE)
		mw_error_set(error,
			     "it cannot be woken: a page of its memory has not come within "
			     "%d s (FUSE, userfaultfd(2))",
			     LIMIT_MS / 1000);
	/* A thread that goes on has to know whether the process has ended. */
	if (outcome != MW_APART_LATE || !is_in_thread)
		mw_reach_close(&reach);
	return outcome == MW_APART_DONE ? 0 : outcome == MW_APART_LATE ? MW_ENTRY_HANGS : -1;
}

#else

int mw_process_enter(const mw_process_key_t *key, mw_error_t *error) {
	(void)key;
	return mw_error_set(error, "it cannot be woken on this processor");
}

#endif
