/* SPDX-License-Identifier: MIT
 * leak_check_request.c -- requests a leak check, and follows it in the state file. */
#include "cmd/input/leak_check_request.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/complain.h"
#include "cli/terminal.h"
#include "formats/file/open_state_file.h"
#include "live/control.h"
#include "live/enter/enter.h"
#include "model/monotonic.h"
#include "report/text/units.h"

/* How often the state file is read: at first, and at last. */
#define READ_FIRST_NS 1000000
#define READ_LAST_NS 20000000
/* What is read of a check that has ended. */
#define WHOLE_CHECK (MW_SNAPSHOT_STACKS | MW_SNAPSHOT_RECORDS | MW_SNAPSHOT_LEAKS)

/* A check that was requested. */
typedef struct check {
	const mw_target_t *target;
	const mw_program_hold_t *program;
	double begin;
	bool is_left_alone; /* it sees the request by itself, and no thread is entered */
	int turn;           /* descriptor of the state file that holds the lock of checks */
	mw_reply_t reply;
} check_t;

/* How far a requested check has come, as the state file says. */
typedef struct progress {
	bool is_seen;  /* the process has read the request */
	bool is_begun; /* and has begun the check */
	uint32_t copy; /* process that searches, for this check or one before it; 0: none */
} progress_t;

/* The process may remove its state file when the check is done. */
static int read_check(const check_t *check, unsigned what, mw_snapshot_t **snapshot,
		      mw_error_t *error) {
	return mw_target_read_fd(check->target, check->program->fd, what | MW_SNAPSHOT_OF_NOW,
				 snapshot, error);
}

/* Lets a thread of a process that does not allocate answer. */
static int wake(const check_t *check, mw_error_t *why) {
	if (!check->program->is_seen)
		return mw_error_set(why, "it cannot be woken from another pid namespace");
	return mw_process_enter(&check->program->reach.key, why);
}

/* Returns the letter of the state (proc(5)) of the process that searches; 'X': it is gone, '\0':
 * not known. It searches on after its parent has executed another program. */
static char copy_state(const mw_target_t *target, uint32_t copy) {
	char path[64], text[512];
	snprintf(path, sizeof(path), "/proc/%d/root/proc/%" PRIu32 "/stat", target->pid, copy);
	FILE *file = copy != 0 ? fopen(path, "re") : NULL;
	size_t bytes = file != NULL ? fread(text, 1, sizeof(text) - 1, file) : 0;
	text[bytes] = '\0';
	if (file != NULL)
		fclose(file);
	/* The state stands behind the name, which is in parentheses. */
	const char *state = strrchr(text, ')');
	if (state != NULL && state[1] == ' ')
		return state[2];
	snprintf(path, sizeof(path), "/proc/%d/root/proc/version", target->pid);
	return copy != 0 && access(path, F_OK) == 0 ? 'X' : '\0';
}

static bool is_ended(char state) {
	return state == 'X' || state == 'Z';
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

static int say_ended(const check_t *check, mw_error_t *error) {
	return mw_error_set(error, "pid %d: the process %s during the check, after %.3g s",
			    check->target->pid, mw_program_end(check->program),
			    mw_monotonic_seconds() - check->begin);
}

/* Waits until no other command has the process checked: the check of one that asks for other
 * things, as for holders, would be taken for this one's. Returns 0; -1: it failed. */
static int take_turn(check_t *check, double limit_seconds, mw_error_t *error) {
	const struct timespec pause = {.tv_nsec = READ_LAST_NS};
	struct flock lock = mw_state_file_lock(MW_STATE_LEAK_CHECK_LOCK, F_WRLCK);
	check->turn = mw_target_open(check->target, O_RDWR);
	if (check->turn < 0)
		return mw_error_set(error, "%s: %s", check->target->shown, strerror(errno));
	while (fcntl(check->turn, F_OFD_SETLK, &lock) != 0) {
		if (errno != EAGAIN && errno != EACCES && errno != EINTR)
			return mw_error_set(error, "%s: cannot lock the state file: %s",
					    check->target->shown, strerror(errno));
		if (!mw_program_goes_on(check->program))
			return say_ended(check, error);
		if (mw_monotonic_seconds() - check->begin > limit_seconds)
			return mw_error_set(error,
					    "pid %d: another mallow has had it checked for leaks "
					    "for %.3g s; end it and try again",
					    check->target->pid, limit_seconds);
		mw_progress("pid %d: another mallow has it checked for leaks", check->target->pid);
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* A process that this command has made, and that has not ended yet, has the descriptor, too. */
static void end_turn(const check_t *check) {
	struct flock lock = mw_state_file_lock(MW_STATE_LEAK_CHECK_LOCK, F_UNLCK);
	if (check->turn < 0)
		return;
	fcntl(check->turn, F_OFD_SETLK, &lock);
	close(check->turn);
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
static int look(const check_t *request, progress_t *progress, mw_error_t *error) {
	const mw_target_t *target = request->target;
	const mw_reply_t *reply = &request->reply;
	mw_snapshot_t *snapshot;
	if (read_check(request, MW_SNAPSHOT_LEAKS, &snapshot, error) != 0)
		return -1;
	const mw_state_leak_check_t *check = &snapshot->leak_check;
	const char *rejected = mw_control_rejected(&snapshot->live, reply->sequence);
	int result = 0;
	progress->is_seen = (int32_t)(snapshot->live.sequence_seen - reply->sequence) >= 0;
	progress->is_begun = (int32_t)(check->number - reply->leak_check) >= 0;
	progress->copy = check->state == MW_LEAK_CHECK_RUNNING ? check->copy_pid : 0;
	if (rejected != NULL && !progress->is_begun)
		result = mw_error_set(error, "pid %d: no leak check: the process rejected it: %s",
				      target->pid, rejected);
	else if (has_no_room(snapshot, reply))
		result = mw_error_set(error,
				      "pid %d: no leak check: the file system of its state file %s "
				      "has no room for the result",
				      target->pid, target->path);
	else if (!progress->is_begun)
		result = 0; /* another check goes on, perhaps */
	else if (check->state == MW_LEAK_CHECK_FAILED)
		result = say_why(target, (mw_leak_error_t)check->error, error);
	else if (check->state == MW_LEAK_CHECK_DONE && check->copy_pid != 0)
		result = 1;
	else
		show_progress(target, check);
	mw_snapshot_free(snapshot);
	return result;
}

/* When a process that has not begun is woken. One that is busy at that moment, in the library, does
 * not answer: it is woken again, each time after twice as long. */
typedef struct waking {
	double next, step; /* next: monotonic time */
	bool hangs;        /* waking it again does not help (MW_ENTRY_HANGS) */
	mw_error_t why;    /* it did not help */
} waking_t;

static void wake_if_due(const check_t *check, waking_t *waking, double now) {
	if (now < waking->next || check->is_left_alone)
		return;
	int result = wake(check, &waking->why);
	waking->hangs = result == MW_ENTRY_HANGS;
	if (result == 0)
		mw_error_set(&waking->why, "it was woken, and has not answered");
	waking->next = now + waking->step;
	waking->step *= 2;
}

static int say_not_woken(const check_t *check, const waking_t *waking, mw_error_t *error) {
	int pid = check->target->pid;
	if (check->is_left_alone)
		return mw_error_set(error,
				    "pid %d: the process has not seen the request yet; it will "
				    "check when it allocates, and 'mallow leaks --last %d' then "
				    "shows the result",
				    pid, pid);
	return mw_error_set(
		error,
		"pid %d: the process does not allocate, so it has not seen the request, "
		"and %s. It will check when it allocates; 'mallow leaks --last %d' then "
		"shows the result",
		pid, waking->why.text, pid);
}

static int say_not_ended(const check_t *check, double seconds, mw_error_t *error) {
	int pid = check->target->pid;
	return mw_error_set(error,
			    "pid %d: the search has not ended after %.3g s; it goes on, and "
			    "'mallow leaks --last %d' shows its result",
			    pid, seconds, pid);
}

/* Waits until the check has ended, and wakes the process until it has begun. `wait_seconds`: until
 * it sees the request. Returns 1; -1: it failed. */
static int wait_for(const check_t *check, double wait_seconds, double limit_seconds,
		    mw_error_t *error) {
	struct timespec pause = {.tv_nsec = READ_FIRST_NS};
	bool is_pending = check->reply.outcome == MW_OUTCOME_PENDING;
	double begin = mw_monotonic_seconds(), now = begin;
	waking_t waking = {.next = now + (is_pending ? 0 : MW_REQUEST_ANSWER_SECONDS),
			   .step = MW_REQUEST_ANSWER_SECONDS};
	progress_t progress = {.copy = 0};
	for (;; now = mw_monotonic_seconds()) {
		/* Asked first: the last thing that a process or its copy does may be to end the
		 * check. */
		bool is_over = !mw_program_goes_on(check->program);
		uint32_t copy = progress.copy;
		char state = copy_state(check->target, copy);
		int result = look(check, &progress, error);
		if (result != 0)
			return result;
		if (progress.copy != copy)
			state = copy_state(check->target, progress.copy);
		if (is_over && (state == '\0' || is_ended(state)))
			return say_ended(check, error);
		if (progress.is_begun && progress.copy == copy && is_ended(state))
			return say_why(check->target, MW_LEAK_ENDED, error);
		bool is_busy = progress.copy != 0 && !is_ended(state);
		if (!progress.is_seen || (!progress.is_begun && !is_busy))
			wake_if_due(check, &waking, now);
		if (!progress.is_seen && (waking.hangs || now - begin > wait_seconds))
			return say_not_woken(check, &waking, error);
		if (now - begin > limit_seconds)
			return say_not_ended(check, limit_seconds, error);
		nanosleep(&pause, NULL);
		pause.tv_nsec = pause.tv_nsec * 2 < READ_LAST_NS ? pause.tv_nsec * 2 : READ_LAST_NS;
	}
}

static int take_done(const mw_target_t *target, mw_snapshot_t **snapshot, mw_error_t *error) {
	if ((*snapshot)->leak_check.state == MW_LEAK_CHECK_DONE)
		return 0;
	const mw_state_leak_check_t *check = &(*snapshot)->leak_check;
	bool is_running = check->state == MW_LEAK_CHECK_RUNNING &&
			  !(target->alive && is_ended(copy_state(target, check->copy_pid)));
	mw_snapshot_free(*snapshot);
	*snapshot = NULL;
	return mw_error_set(error, "%s: %s", target->shown,
			    is_running ? "its leak check has not ended"
				       : "it was never checked for leaks, or the check failed");
}

int mw_check_read(const mw_target_t *target, mw_snapshot_t **snapshot, mw_error_t *error) {
	unsigned what = WHOLE_CHECK | (target->alive ? MW_SNAPSHOT_OF_NOW : 0);
	if (!target->is_state)
		return mw_error_set(error,
				    "%s: is a profile; leaks needs a process or its state file. "
				    "'mallow top %s' shows what the profile holds",
				    target->shown, target->shown);
	if (mw_target_read(target, what, snapshot, error) != 0)
		return -1;
	return take_done(target, snapshot, error);
}

/* Has the turn. */
static int make_check(check_t *check, const mw_check_options_t *options, mw_snapshot_t **snapshot,
		      mw_error_t *error) {
	const mw_request_t request = {.kind = MW_REQUEST_LEAK_CHECK,
				      .leak_options = options->options};
	double first_seconds = fmin(options->wait_seconds, MW_REQUEST_BY_ITSELF_SECONDS);
	if (mw_control_send(check->target, &request, first_seconds, &check->reply, error) != 0)
		return -1;
	int result = wait_for(check, options->wait_seconds - first_seconds, options->limit_seconds,
			      error);
	mw_progress_end();
	if (result <= 0 || read_check(check, WHOLE_CHECK, snapshot, error) != 0 ||
	    take_done(check->target, snapshot, error) != 0)
		return -1;
	if (!mw_program_goes_on(check->program))
		mw_complain(
			"note: pid %d: the process %s meanwhile, %.3g s after the request: this "
			"is what the check found, which it had begun before",
			check->target->pid, mw_program_end(check->program),
			mw_monotonic_seconds() - check->begin);
	return 0;
}

int mw_check_program(const mw_target_t *target, const mw_program_hold_t *program,
		     const mw_check_options_t *options, mw_snapshot_t **snapshot,
		     mw_error_t *error) {
	check_t check = {.target = target,
			 .program = program,
			 .begin = mw_monotonic_seconds(),
			 .is_left_alone = options->wait_seconds <= 0};
	int result = take_turn(&check, options->limit_seconds, error);
	if (result == 0)
		result = make_check(&check, options, snapshot, error);
	mw_progress_end();
	end_turn(&check);
	return result;
}

int mw_check_process(const mw_target_t *target, const mw_check_options_t *options,
		     mw_snapshot_t **snapshot, mw_error_t *error) {
	mw_program_hold_t program;
	int result = mw_program_hold(target, &program, error);
	if (result == 0)
		result = mw_check_program(target, &program, options, snapshot, error);
	mw_program_hold_release(&program);
	return result;
}
