/* SPDX-License-Identifier: MIT
 * thread_entry.c -- stops a thread by ptrace(2), checks whose it is, and points it to code that
 * restores its registers by itself (state/tool_entry.h). */
#include "live/enter/thread_entry.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "live/enter/call_limit.h"
#include "live/enter/stack_room.h"
#include "live/enter/thread_registers.h"
#include "live/process/process.h"
#include "model/monotonic.h"
#include "os/platform/interrupted_call.h"
#include "state/tool_entry.h"

/* How long a thread may take to stop: on a busy machine it waits for a processor. */
#define STOP_WAIT_NS UINT64_C(2000000000)
#define LOOK_FIRST_NS 50000
#define LOOK_NS 1000000
/* How long threads are tried, from when they are listed on. One that is seen to have no room takes
 * 0.05 ms, one that is stopped for that 2 ms in a process of a thousand threads. */
#define TRY_NS UINT64_C(500000000)

long mw_status_number(int pid, const char *key) {
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
	const mw_thread_entry_t *entry;
	int pid, id;
	bool is_filtered;         /* by seccomp(2) */
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
	return mw_stack_may_have_room(space, thread->pid, thread->all, thread->id, r->stack_pointer,
				      thread->entry->stack_bytes) &&
	       (stack->is_stack ||
		(r->thread_pointer > r->stack_pointer && r->thread_pointer < stack->limit));
}

/* Says in the frame what remains of the time limit of a call that begins anew. */
static void note_limit(mw_stack_part_t *part, const candidate_t *thread, uint64_t number) {
	if (thread->asleep.number == number)
		mw_registers_note_limit(
			part, mw_asleep_rest_ns(thread->pid, thread->id, &thread->asleep));
}

/* Returns where the frame goes; the order follows behind the registers. */
static uint64_t place_part(const mw_registers_t *r, size_t part_bytes, size_t order_bytes) {
	const uint64_t align = MW_TOOL_ENTRY_ALIGN;
	uint64_t below = r->stack_pointer - MW_TOOL_ENTRY_RED_ZONE_BYTES - order_bytes;
	return (below & ~(align - 1)) - ((part_bytes + align - 1) & ~(align - 1));
}

static bool write_memory(const mw_address_space_t *space, uint64_t address, const void *from,
			 size_t bytes) {
	return pwrite(space->memory, from, bytes, (off_t)address) == (ssize_t)bytes;
}

/* Returns whether the memory can be read: that of a process that ends meanwhile cannot. */
static bool is_there(const mw_address_space_t *space) {
	char byte;
	size_t i = 0;
	while (i < space->count && !space->maps[i].is_readable)
		i++;
	return i < space->count && pread(space->memory, &byte, 1, (off_t)space->maps[i].start) == 1;
}

/* Points a stopped thread to the code. The frame is written to the address space in which the code
 * was found: after an exec(2) of another thread nothing is written, and this thread exists no more.
 */
static mw_entry_outcome_t point(mw_address_space_t *space, const candidate_t *thread) {
	const mw_thread_entry_t *entry = thread->entry;
	mw_registers_t r;
	_Alignas(64) mw_stack_part_t part = {0};
	uint64_t number;
	if (thread->is_filtered && !entry->passes_filters(entry, thread->id))
		return MW_ENTRY_FILTERED;
	/* The library's code tells more of stacks. */
	uint64_t code = entry->find_code(entry, space);
	if (code == 0)
		return is_there(space) ? MW_ENTRY_NO_CODE : MW_ENTRY_UNFIT;
	if (!mw_registers_read(thread->id, &r) || !has_room(space, thread, &r))
		return MW_ENTRY_UNFIT;
	size_t bytes =
		mw_registers_make_part(space, thread->id, &thread->before, &r, &part, &number);
	if (bytes == 0)
		return MW_ENTRY_UNFIT;
	if (entry->write_code != NULL && !entry->write_code(entry, space, thread->id))
		return MW_ENTRY_NO_CODE;
	note_limit(&part, thread, number);
	uint64_t at = place_part(&r, bytes, entry->order_bytes);
	uint64_t order = at + ((bytes + MW_TOOL_ENTRY_ALIGN - 1) & ~(MW_TOOL_ENTRY_ALIGN - 1ULL));
	if (!write_memory(space, at, &part, bytes) ||
	    !write_memory(space, order, entry->order, entry->order_bytes) ||
	    !mw_registers_point(thread->id, &r, &part, &(mw_registers_goal_t){at, code, order}))
		return MW_ENTRY_UNFIT;
	return MW_ENTRY_DONE;
}

/* With the thread stopped: the process is still the one that was found, and may be entered. The
 * address space is opened before: it is the one that is checked here, because the stopped thread
 * would not outlive an exec(2). */
static mw_entry_outcome_t check_and_point(const candidate_t *thread) {
	const mw_reach_t *reach = thread->entry->reach;
	mw_address_space_t space;
	mw_entry_outcome_t outcome = MW_ENTRY_UNFIT;
	bool is_open = mw_address_space_open(thread->id, &space) == 0;
	if (!mw_reach_has_thread(reach, thread->id) || !mw_reach_holds(reach))
		outcome = MW_ENTRY_OTHER;
	else if (mw_thread_exceeds_command(thread->id))
		outcome = MW_ENTRY_EXCEEDS;
	else if (is_open)
		outcome = point(&space, thread);
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
	       !mw_stack_may_have_room(space, thread->pid, thread->all, thread->id, rsp,
				       thread->entry->stack_bytes);
}

static mw_entry_outcome_t try_thread(const mw_thread_entry_t *entry,
				     const mw_address_space_t *space, const mw_sleepers_t *all,
				     int id) {
	int status = 0;
	candidate_t thread = {.entry = entry, .pid = entry->reach->key.pid, .id = id, .all = all};
	char state = state_of(thread.pid, id);
	/* One that waits for a disk would stop later, and wait for this command to end. */
	if (state != 'S' && state != 'R')
		return state == 'T' || state == 't' ? MW_ENTRY_PAUSED : MW_ENTRY_UNFIT;
	if (state == 'S' && has_no_room(space, &thread))
		return MW_ENTRY_UNFIT;
	thread.is_filtered = mw_status_number(id, "Seccomp") > 0;
	if (thread.is_filtered && entry->passes_filters == NULL)
		return MW_ENTRY_FILTERED;
	if (mw_registers_are_shadowed(id))
		return MW_ENTRY_SHADOWED;
	if (is_answering(id))
		return MW_ENTRY_UNFIT;
	if (state == 'S')
		thread.asleep = mw_asleep_read(thread.pid, id);
	if (ptrace(PTRACE_SEIZE, id, NULL, NULL) != 0)
		return errno == ESRCH ? MW_ENTRY_UNFIT : MW_ENTRY_REFUSED;
	thread.before = mw_call_before(thread.pid, id);
	if (ptrace(PTRACE_INTERRUPT, id, NULL, NULL) != 0 || !wait_stop(id, &status))
		return MW_ENTRY_UNFIT; /* the kernel lets the thread go when this command ends */
	/* Else a signal arrives at this moment, or the whole process is stopped. */
	bool is_ours = status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP;
	/* At once: a command that is killed from here on leaves no call that returns EINTR. */
	mw_registers_let_call_repeat(id, &thread.before, thread.is_filtered);
	mw_entry_outcome_t outcome = is_ours ? check_and_point(&thread) : MW_ENTRY_UNFIT;
	int signal_number = status >> 16 == 0 ? WSTOPSIG(status) : 0;
	ptrace(PTRACE_DETACH, id, NULL, (void *)(intptr_t)signal_number);
	return outcome;
}

/* True: another thread may be entered. */
static bool is_of_thread(mw_entry_outcome_t outcome) {
	return outcome == MW_ENTRY_UNFIT || outcome == MW_ENTRY_PAUSED ||
	       outcome == MW_ENTRY_FILTERED || outcome == MW_ENTRY_SHADOWED;
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

mw_entry_outcome_t mw_thread_enter(const mw_thread_entry_t *entry, int *why_refused) {
	const mw_reach_t *reach = entry->reach;
	int pid = reach->key.pid;
	mw_address_space_t space;
	mw_address_space_open(mw_process_thread(pid), &space);
	int first = mw_process_thread(pid);
	mw_sleepers_t threads = mw_sleepers_list(pid);
	uint64_t begin_ns = mw_monotonic_ns();
	mw_entry_outcome_t outcome = try_thread(entry, &space, &threads, first);
	size_t step = step_through(threads.count);
	size_t at = threads.count > 0 ? begin_ns / 1000 % threads.count : 0;
	for (size_t i = 0;
	     i < threads.count && is_of_thread(outcome) && mw_monotonic_ns() - begin_ns < TRY_NS;
	     i++, at = (at + step) % threads.count) {
		int thread = threads.items[at].id;
		if (thread == first || !mw_reach_has_thread(reach, thread))
			continue;
		mw_entry_outcome_t result = try_thread(entry, &space, &threads, thread);
		/* What keeps any thread from being entered tells more. */
		outcome = result != MW_ENTRY_UNFIT ? result : outcome;
	}
	*why_refused = errno;
	free(threads.items);
	mw_address_space_close(&space);
	/* A process that ends has no thread that can be entered. */
	return outcome == MW_ENTRY_UNFIT && !mw_reach_holds(reach) ? MW_ENTRY_OTHER : outcome;
}
