/* SPDX-License-Identifier: MIT
 * enter.c -- stops a thread by ptrace(2), checks whose it is, and points it to the library's entry
 * code (state/tool_entry.h). */
#include "live/enter/enter.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "live/enter/call_limit.h"
#include "live/enter/library_entry.h"
#include "live/enter/stack_room.h"
#include "live/enter/thread_registers.h"
#include "live/files/apart.h"
#include "live/process/process.h"
#include "model/monotonic.h"
#include "os/platform/interrupted_call.h"
#include "state/tool_entry.h"

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

/* A thread that is tried. */
typedef struct candidate {
	int pid, id;
	const mw_sleepers_t *all; /* of its process */
	mw_asleep_t asleep;       /* before it was stopped */
	mw_call_before_t before;
} candidate_t;

/* Returns whether there is room for the answer below the stack pointer. Known stacks are the
 * kernel's of the first thread, and those that have the thread's own data at their top and a guard
 * below, as threads of libc have, unless blocks of malloc() have such guards, too. Any other, such
 * as a coroutine's or an alternate one of signals, may be a small part of its mapping, with other
 * data below. */
static bool has_room(const mw_address_space_t *space, const candidate_t *thread,
		     const mw_registers_t *r) {
	const mw_map_t *stack = mw_address_space_at(space, r->stack_pointer);
	return mw_stack_may_have_room(space, thread->pid, thread->all, thread->id,
				      r->stack_pointer) &&
	       (stack->is_stack ||
		(r->thread_pointer > r->stack_pointer && r->thread_pointer < stack->limit));
}

/* Says in the frame what remains of the time limit of a call that begins anew. */
static void note_limit(mw_stack_part_t *part, const candidate_t *thread, uint64_t number) {
	if (thread->asleep.number == number)
		mw_registers_note_limit(
			part, mw_asleep_rest_ns(thread->pid, thread->id, &thread->asleep));
}

/* Points a stopped thread to the entry code. The frame is written to the address space in
 * which the code was found: after an exec(2) of another thread nothing is written, and this thread
 * exists no more. */
static outcome_t point(const mw_reach_t *reach, mw_address_space_t *space,
		       const candidate_t *thread) {
	mw_registers_t r;
	_Alignas(64) mw_stack_part_t part = {0};
	uint64_t number;
	uint64_t entry_address = mw_library_entry_find(space, reach);
	if (entry_address == 0)
		return NO_ENTRY;
	if (!mw_registers_read(thread->id, &r) || !has_room(space, thread, &r))
		return UNFIT;
	size_t bytes =
		mw_registers_make_part(space, thread->id, &thread->before, &r, &part, &number);
	note_limit(&part, thread, number);
	uint64_t stack_pointer = (r.stack_pointer - MW_TOOL_ENTRY_RED_ZONE_BYTES - bytes) &
				 ~(uint64_t)(MW_TOOL_ENTRY_ALIGN - 1);
	if (bytes == 0 ||
	    pwrite(space->memory, &part, bytes, (off_t)stack_pointer) != (ssize_t)bytes ||
	    !mw_registers_point(thread->id, &r, &part, stack_pointer, entry_address))
		return UNFIT;
	return ENTERED;
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
	if (mw_registers_are_shadowed(id))
		return SHADOWED;
	if (is_answering(id))
		return UNFIT;
	if (state == 'S')
		thread.asleep = mw_asleep_read(thread.pid, id);
	if (ptrace(PTRACE_SEIZE, id, NULL, NULL) != 0)
		return errno == ESRCH ? UNFIT : REFUSED;
	thread.before = mw_call_before(thread.pid, id);
	if (ptrace(PTRACE_INTERRUPT, id, NULL, NULL) != 0 || !wait_stop(id, &status))
		return UNFIT; /* the kernel lets the thread go when this command ends */
	/* Else a signal arrives at this moment, or the whole process is stopped. */
	bool is_ours = status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP;
	/* At once: a command that is killed from here on leaves no call that returns EINTR. */
	mw_registers_let_call_repeat(id, &thread.before);
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
