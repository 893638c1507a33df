/* SPDX-License-Identifier: MIT
 * leak_check_request.c -- requests a leak check, and follows it in the state file. */
#include "cmd/input/leak_check_request.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include "cli/terminal.h"
#include "live/control.h"
#include "live/enter/enter.h"
#include "report/text/units.h"

/* How long a process has to see the request before it is woken. */
#define WAKE_SECONDS 0.5
/* How often the state file is read, and how often the process is asked to look after its copy:
 * one that was killed leaves no result. */
#define READ_NS 20000000
#define LOOK_SECONDS 1.0
/* How long the process has to let the kernel forget its copy. */
#define FORGET_SECONDS 2.0

static double monotonic_seconds(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Lets a thread of a process that does not allocate answer. */
static int wake(const mw_target_t *target, mw_error_t *why) {
	const mw_process_key_t key = mw_target_key(target);
	if (mw_target_process(target) <= 0)
		return mw_error_set(why, "it cannot be woken from another pid namespace");
	return mw_process_enter(&key, why);
}

/* Has the process look after its copy: one that has ended leaves an entry in the kernel's table of
 * processes, one that was killed no result. `sleeps`: the process has to be woken. */
static void have_it_look(const mw_target_t *target, bool sleeps) {
	const mw_request_t request = {.kind = MW_REQUEST_WALK};
	mw_reply_t reply;
	mw_error_t ignored;
	if (mw_control_send(target, &request, 0, &reply, &ignored) == 0 && sleeps)
		wake(target, &ignored);
}

/* Returns whether the copy is in the kernel's table of processes, ended or not. */
static bool is_copy_known(const mw_target_t *target, uint32_t copy) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/root/proc/%" PRIu32, target->pid, copy);
	return access(path, F_OK) == 0;
}

/* Waits until the copy is gone: it would stay as a zombie until the process allocates. */
static void have_it_forget(const mw_target_t *target, uint32_t copy, bool sleeps) {
	const struct timespec pause = {.tv_nsec = READ_NS};
	double begin = monotonic_seconds(), past = 0;
	while (is_copy_known(target, copy) && past < FORGET_SECONDS) {
		nanosleep(&pause, NULL);
		past = monotonic_seconds() - begin;
		have_it_look(target, sleeps || past > WAKE_SECONDS);
	}
}

static int say_why(const mw_target_t *target, mw_leak_error_t why, mw_error_t *error) {
	static const char *const reasons[] = {
		[MW_LEAK_NO_MEMORY] = "the kernel refused memory for a copy of the process, or in "
				      "the copy (limits of the process or of its cgroup)",
		[MW_LEAK_ENDED] =
			"the copy of the process, which searches, was ended: by its limit "
			"of time, for lack of memory, or by a filter of system calls",
		[MW_LEAK_NO_STOP] = "its threads cannot be stopped: the program filters system "
				    "calls, uses every real-time signal, or has no /proc",
		[MW_LEAK_BUSY] = "the program checks for leaks itself at this moment; try again",
	};
	bool is_known = why < sizeof(reasons) / sizeof(reasons[0]) && reasons[why] != NULL;
	return mw_error_set(error, "pid %d: no leak check: %s", target->pid,
			    is_known ? reasons[why] : "the reason is unknown to this command");
}

static int say_ended(const mw_target_t *target, mw_error_t *error) {
	return mw_error_set(error, "pid %d: the process ended during the check", target->pid);
}

/* The process has seen the request, and had no room to begin. */
static bool has_no_room(const mw_snapshot_t *snapshot, const mw_reply_t *reply) {
	return snapshot->leak_check.number == 0 &&
	       (snapshot->live.flags & MW_STATE_FILE_FULL) != 0 &&
	       (int32_t)(snapshot->live.sequence_seen - reply->sequence) >= 0;
}

static void show_progress(const mw_target_t *target, const mw_state_leak_check_t *check) {
	char bytes[32];
	mw_progress("pid %d: searched %s of blocks so far", target->pid,
		    mw_format_bytes((int64_t)(check->read_block_bytes & INT64_MAX), bytes,
				    sizeof(bytes)));
}

/* Returns 1 if the check has ended, 0 if it goes on; -1: it failed. */
static int look(const mw_target_t *target, const mw_reply_t *reply, mw_error_t *error) {
	mw_snapshot_t *snapshot;
	if (mw_target_read(target, MW_SNAPSHOT_LEAKS | MW_SNAPSHOT_OF_NOW, &snapshot, error) != 0)
		return -1;
	const mw_state_leak_check_t *check = &snapshot->leak_check;
	const char *rejected = mw_control_rejected(&snapshot->live, reply->sequence);
	int result = 0;
	if (rejected != NULL && (int32_t)(check->number - reply->leak_check) < 0)
		result = mw_error_set(error, "pid %d: no leak check: the process rejected it: %s",
				      target->pid, rejected);
	else if (has_no_room(snapshot, reply))
		result = mw_error_set(error,
				      "pid %d: no leak check: the file system of its state file %s "
				      "has no room for the result",
				      target->pid, target->path);
	else if ((int32_t)(check->number - reply->leak_check) < 0)
		result = 0; /* another check goes on */
	else if (check->state == MW_LEAK_CHECK_FAILED)
		result = say_why(target, (mw_leak_error_t)check->error, error);
	else if (check->state == MW_LEAK_CHECK_DONE && check->copy_pid != 0)
		result = 1;
	else
		show_progress(target, check);
	mw_snapshot_free(snapshot);
	return result;
}

static int wait_for(const mw_target_t *target, const mw_reply_t *reply, bool sleeps, double seconds,
		    mw_error_t *error) {
	const struct timespec pause = {.tv_nsec = READ_NS};
	double begin = monotonic_seconds(), looked = begin;
	for (;;) {
		int result = look(target, reply, error);
		if (result != 0)
			return result;
		double now = monotonic_seconds();
		if (!mw_target_is_alive(target))
			return say_ended(target, error);
		if (now - begin > seconds)
			return mw_error_set(
				error,
				"pid %d: the search has not ended after %.3g s; it goes on, and "
				"'mallow leaks --last %d' shows its result",
				target->pid, seconds, target->pid);
		if (now - looked > LOOK_SECONDS) {
			have_it_look(target, sleeps);
			looked = now;
		}
		nanosleep(&pause, NULL);
	}
}

int mw_check_read(const mw_target_t *target, mw_snapshot_t **snapshot, mw_error_t *error) {
	unsigned what = MW_SNAPSHOT_STACKS | MW_SNAPSHOT_RECORDS | MW_SNAPSHOT_LEAKS |
			(target->alive ? MW_SNAPSHOT_OF_NOW : 0);
	if (!target->is_state)
		return mw_error_set(error,
				    "%s: is a profile; leaks needs a process or its state file. "
				    "'mallow top %s' shows what the profile holds",
				    target->shown, target->shown);
	if (mw_target_read(target, what, snapshot, error) != 0)
		return -1;
	if ((*snapshot)->leak_check.state == MW_LEAK_CHECK_DONE)
		return 0;
	bool is_running = (*snapshot)->leak_check.state == MW_LEAK_CHECK_RUNNING;
	mw_snapshot_free(*snapshot);
	*snapshot = NULL;
	return mw_error_set(error, "%s: %s", target->shown,
			    is_running ? "its leak check has not ended"
				       : "it was never checked for leaks, or the check failed");
}

static bool has_seen(const mw_target_t *target, const mw_reply_t *reply) {
	mw_snapshot_t *snapshot;
	mw_error_t ignored;
	if (mw_target_read(target, MW_SNAPSHOT_OF_NOW, &snapshot, &ignored) != 0)
		return false;
	bool result = (int32_t)(snapshot->live.sequence_seen - reply->sequence) >= 0;
	mw_snapshot_free(snapshot);
	return result;
}

/* Wakes a process that has not seen a request, and waits until it has. */
static int wake_and_wait(const mw_target_t *target, const mw_reply_t *reply, double wait_seconds,
			 mw_error_t *error) {
	const struct timespec pause = {.tv_nsec = READ_NS};
	mw_error_t why = {.text = "it was woken, and has not answered"};
	double begin = monotonic_seconds();
	wake(target, &why);
	do {
		if (has_seen(target, reply))
			return 0;
		nanosleep(&pause, NULL);
	} while (monotonic_seconds() - begin < wait_seconds && mw_target_is_alive(target));
	if (!mw_target_is_alive(target))
		return say_ended(target, error);
	return mw_error_set(
		error,
		"pid %d: the process does not allocate, so it has not seen the request, "
		"and %s. It will check when it allocates; 'mallow leaks --last %d' then "
		"shows the result",
		target->pid, why.text, target->pid);
}

int mw_check_process(const mw_target_t *target, const mw_check_options_t *options,
		     mw_snapshot_t **snapshot, mw_error_t *error) {
	const mw_request_t request = {.kind = MW_REQUEST_LEAK_CHECK,
				      .leak_options = options->options};
	mw_reply_t reply;
	double first_seconds =
		options->wait_seconds < WAKE_SECONDS ? options->wait_seconds : WAKE_SECONDS;
	if (mw_control_send(target, &request, first_seconds, &reply, error) != 0)
		return -1;
	bool sleeps = reply.outcome == MW_OUTCOME_PENDING;
	if (sleeps &&
	    wake_and_wait(target, &reply, options->wait_seconds - first_seconds, error) != 0)
		return -1;
	int result = wait_for(target, &reply, sleeps, options->limit_seconds, error);
	mw_progress_end();
	if (result <= 0 || mw_check_read(target, snapshot, error) != 0)
		return -1;
	have_it_forget(target, (*snapshot)->leak_check.copy_pid, sleeps);
	return 0;
}
