/* SPDX-License-Identifier: MIT
 * enter.c -- has a thread enter the library's entry code, and says why it could not. */
#include "live/enter/enter.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "live/enter/library_entry.h"
#include "live/enter/thread_entry.h"
#include "live/files/apart.h"
#include "live/process/process.h"
#include "state/tool_entry.h"

/* Most time for all threads that are tried: one of them may take 2 s more (thread_entry.c). */
#define LIMIT_MS 5000
#define NEEDS_NO_WAKING                                                                            \
	"a program that is started with MALLOW_CONF=background_thread:true needs no waking"

/* `why`: errno of ptrace(2). */
static int say_refused(int pid, int why, mw_error_t *error) {
	long tracer = mw_status_number(pid, "TracerPid");
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

static int say_outcome(const mw_reach_t *reach, mw_entry_outcome_t outcome, int why_refused,
		       mw_error_t *error) {
	switch (outcome) {
	case MW_ENTRY_DONE:
		return 0;
	case MW_ENTRY_REFUSED:
		return say_refused(reach->key.pid, why_refused, error);
	case MW_ENTRY_PAUSED:
		return mw_error_set(error, "it cannot be woken: it is stopped, by a signal or a "
					   "debugger");
	case MW_ENTRY_FILTERED:
		return mw_error_set(
			error,
			"it is not woken, because it filters its system calls; " NEEDS_NO_WAKING);
	case MW_ENTRY_SHADOWED:
		return mw_error_set(
			error, "it is not woken, because it has shadow stacks; " NEEDS_NO_WAKING);
	case MW_ENTRY_OTHER:
		return say_other(&reach->key, error);
	case MW_ENTRY_EXCEEDS:
		return mw_error_set(error, "it is not woken, because it has users, groups or "
					   "capabilities that this command lacks");
	case MW_ENTRY_NO_CODE:
		return mw_error_set(error, "it cannot be woken: no library in it has the code for "
					   "that which this command knows, or the library is being "
					   "loaded");
	default:
		return mw_error_set(error, "it cannot be woken: none of the threads that were "
					   "tried is at a place with room on its stack where it "
					   "could answer; " NEEDS_NO_WAKING);
	}
}

static uint64_t find_code(const mw_thread_entry_t *entry, mw_address_space_t *space) {
	return mw_library_entry_find(space, entry->reach);
}

static mw_apart_outcome_t enter_apart(const void *reach, mw_error_t *error) {
	int why_refused = 0;
	mw_thread_entry_t entry = {
		.reach = reach,
		.stack_bytes = MW_TOOL_ENTRY_STACK_BYTES,
		.find_code = find_code,
	};
	mw_entry_outcome_t outcome = mw_thread_enter(&entry, &why_refused);
	if (say_outcome(reach, outcome, why_refused, error) == 0)
		return MW_APART_DONE;
	return outcome == MW_ENTRY_REFUSED ? MW_APART_REFUSED : MW_APART_FAILED;
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
