/* SPDX-License-Identifier: MIT
 * session.c -- switches sampling on, waits, and writes the allocations of that time, and which
 * of them are still live.  Afterwards the processes have their former settings.  SIGINT, SIGTERM
 * and SIGHUP end the wait early. */
#include "cmd/process/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/complain.h"
#include "cli/print.h"
#include "cmd/input/selected_processes.h"
#include "cmd/process/dump_pattern.h"
#include "formats/file/open_state_file.h"
#include "live/control.h"
#include "live/process/process.h"
#include "live/sampling_lease.h"
#include "model/memory.h"
#include "report/text/units.h"

/* How often the processes are looked at. */
#define STEP_NS 100000000u

/* A process of the session.  Its state file is kept open, because the process may end during the
 * wait. */
typedef struct member {
	mw_target_t target;
	int fd;
	mw_lease_t lease;
	uint64_t since_ns; /* CLOCK_MONOTONIC */
	uint64_t ended_ns; /* time when the process was seen to have ended; 0: it runs */
	mw_snapshot_t *before;
} member_t;

typedef struct session {
	member_t **members;
	size_t count, capacity;
	double wait_seconds;
} session_t;

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number) {
	(void)signal_number;
	interrupted = 1;
}

/* Has the precision of the times in records. */
static uint64_t monotonic_ns(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void free_member(member_t *member) {
	mw_lease_end(&member->lease, NULL);
	if (member->before)
		mw_snapshot_free(member->before);
	mw_target_release(&member->target);
	if (member->fd >= 0)
		close(member->fd);
	free(member);
}

static int begin(const mw_target_t *target, const void *context, mw_error_t *error) {
	session_t *session = *(session_t *const *)context;
	mw_reply_t reply;
	member_t *member = mw_xcalloc(1, sizeof(*member));
	member->target = *target;
	member->target.path = mw_xstrdup(target->path);
	member->target.shown = mw_xstrdup(target->shown);
	member->lease.fd = -1;
	member->fd = mw_open_file(target->path, O_RDONLY | O_NONBLOCK);
	int result = 0;
	if (member->fd < 0)
		result = mw_error_set(error, "%s: cannot open: %s", target->shown, strerror(errno));
	if (result == 0)
		result = mw_lease_begin(&member->lease, &member->target, 0, session->wait_seconds,
					&reply, error);
	member->since_ns = monotonic_ns();
	if (result == 0)
		result = mw_target_read_fd(&member->target, member->fd, MW_SNAPSHOT_STACKS,
					   &member->before, error);
	if (result != 0) {
		free_member(member);
		return -1;
	}
	session->members = mw_grow(session->members, &session->capacity, session->count + 1,
				   sizeof(*session->members));
	session->members[session->count++] = member;
	return MW_EXIT_FINE;
}

/* Returns whether a process still runs. */
static bool keep(session_t *session) {
	bool goes_on = false;
	for (size_t i = 0; i < session->count; i++) {
		member_t *member = session->members[i];
		if (member->ended_ns != 0)
			continue;
		if (!mw_lease_has_process(&member->lease)) {
			member->ended_ns = monotonic_ns();
			continue;
		}
		mw_lease_keep(&member->lease);
		goes_on = true;
	}
	return goes_on;
}

/* Waits until the time is over, or all processes have ended. */
static void wait_seconds(session_t *session, double seconds) {
	struct sigaction action = {.sa_handler = on_interrupt}, interrupt, terminate, hangup;
	const struct timespec step = {.tv_nsec = STEP_NS};
	uint64_t end_ns = monotonic_ns() + (uint64_t)(seconds * 1e9);
	sigaction(SIGINT, &action, &interrupt);
	sigaction(SIGTERM, &action, &terminate);
	sigaction(SIGHUP, &action, &hangup);
	while (!interrupted && keep(session)) {
		uint64_t now_ns = monotonic_ns();
		if (now_ns >= end_ns)
			break;
		const struct timespec rest = {.tv_nsec = (long)(end_ns - now_ns)};
		nanosleep(end_ns - now_ns < STEP_NS ? &rest : &step, NULL);
	}
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGTERM, &terminate, NULL);
	sigaction(SIGHUP, &hangup, NULL);
}

/* Makes a name for the file by a pattern, in a directory, or without --output in the current
 * directory. */
static char *choose_path(const char *output, int pid, const mw_profile_t *profile) {
	static uint64_t number;
	struct stat info;
	bool directory = output && stat(output, &info) == 0 && S_ISDIR(info.st_mode);
	if (output && !directory)
		return mw_dump_pattern_expand(output, profile, (unsigned)pid, ++number);
	return mw_profile_path(directory ? output : NULL,
			       mw_profile_string(profile, profile->origin.program), (unsigned)pid,
			       mw_now_ns(), ".pb.gz");
}

static void say_result(const member_t *member, const mw_profile_t *profile, const char *path) {
	int64_t sums[2] = {0, 0};
	static const char *const types[2] = {"alloc_space", "inuse_space"};
	char texts[2][MW_SHOW_BYTES], duration[MW_SHOW_BYTES];
	for (int k = 0; k < 2; k++) {
		int type = mw_profile_find_type(profile, types[k]);
		for (size_t i = 0; type >= 0 && i < profile->sample_count; i++)
			sums[k] += mw_profile_values(profile, i)[type];
		mw_format_bytes(sums[k], texts[k], MW_SHOW_BYTES);
	}
	mw_complain("pid %d: %s allocated in %s, of which %s are still live; profile written: %s",
		    member->target.pid, texts[0],
		    mw_show_duration((uint64_t)profile->duration_ns, duration), texts[1], path);
}

static int write_member(const member_t *member, const char *output, mw_error_t *error) {
	mw_snapshot_t *after;
	if (mw_target_read_fd(&member->target, member->fd, MW_SNAPSHOT_STACKS | MW_SNAPSHOT_RECORDS,
			      &after, error) != 0)
		return -1;
	int64_t taken_ns = after->taken_ns;
	uint64_t now_ns = member->ended_ns != 0 ? member->ended_ns : monotonic_ns();
	double whole = (double)(now_ns - member->since_ns) / 1e9, seconds = whole;
	char reset[160] = "";
	if (mw_snapshot_was_reset(after, member->before, &seconds)) {
		snprintf(reset, sizeof(reset),
			 "'mallow reset' set the counters to zero after %.3g s: this is what was "
			 "allocated in the %.3g s since",
			 whole - seconds, seconds);
		mw_complain("note: pid %d: %s", member->target.pid, reset);
	}
	mw_snapshot_since(after, member->before, member->since_ns);
	mw_profile_t *profile = mw_profile_from_snapshot(after);
	mw_snapshot_free(after);
	profile->time_ns = taken_ns;
	profile->duration_ns = (int64_t)(seconds * 1e9);
	if (reset[0] != '\0')
		mw_profile_add_comment(profile, reset);
	int process = mw_target_is_alive(&member->target) ? mw_target_process(&member->target) : 0;
	mw_load_symbols(profile, process > 0 ? (uint32_t)process : 0, true);
	char *path = choose_path(output, member->target.pid, profile);
	int result =
		mw_write_profile(profile, path, mw_format_of_name(path), MW_GZIP_BY_NAME, error);
	if (result == 0)
		say_result(member, profile, path);
	free(path);
	mw_profile_free(profile);
	return result;
}

/* Says what makes the profile incomplete. */
static void say_notes(const member_t *member) {
	double seconds = (double)(member->ended_ns - member->since_ns) / 1e9;
	if (member->ended_ns != 0)
		mw_complain("note: pid %d: the process %s after %.3g s", member->target.pid,
			    mw_target_end(&member->target, member->fd), seconds);
	if (member->lease.lost_seconds > 0)
		mw_complain(
			"note: pid %d: nothing was sampled for about %.3g s, in which this command "
			"was stopped or suspended",
			member->target.pid, member->lease.lost_seconds);
}

static int end(session_t *session, const char *output) {
	int status = MW_EXIT_FINE;
	mw_error_t error;
	for (size_t i = 0; i < session->count; i++) {
		member_t *member = session->members[i];
		say_notes(member);
		if (write_member(member, output, &error) != 0) {
			mw_complain("%s", error.text);
			status = MW_EXIT_TROUBLE;
		}
		free_member(member);
	}
	free(session->members);
	return status;
}

/* Checks before the session whether the output can be written, because a session may take an
 * hour. */
static bool can_write(const char *output) {
	struct stat info;
	bool is_directory = output && stat(output, &info) == 0 && S_ISDIR(info.st_mode);
	char *directory = mw_xstrdup(output ? output : ".");
	if (output && !is_directory) {
		char *slash = strrchr(directory, '/');
		/* The name is not empty, so there is room for a dot. */
		if (!slash)
			*directory = '.';
		(slash ? slash : directory)[1] = '\0';
	}
	bool can = access(directory, W_OK | X_OK) == 0;
	if (!can)
		mw_complain("start: %s: cannot write: %s", output ? output : directory,
			    strerror(errno));
	free(directory);
	return can;
}

int mw_session(const mw_arguments_t *arguments) {
	const mw_seconds_value_t *wait = &arguments->options.wait;
	const char *output = arguments->options.output.text;
	session_t session = {.wait_seconds = wait->given ? wait->seconds : MW_REQUEST_WAIT_SECONDS};
	session_t *context = &session;
	struct stat info;
	bool is_directory = output && stat(output, &info) == 0 && S_ISDIR(info.st_mode);
	if (!is_directory && !mw_dump_pattern_check("start", output))
		return MW_EXIT_TROUBLE;
	if (output && mw_selects_several(arguments) && !is_directory &&
	    !mw_dump_pattern_splits_processes(output)) {
		mw_complain("start: --output %s is not a directory; several processes need a "
			    "directory, a pattern with %%p or %%n, or no --output",
			    output);
		return MW_EXIT_TROUBLE;
	}
	if (!can_write(output))
		return MW_EXIT_TROUBLE;
	int status = mw_on_selected(arguments, begin, &context);
	if (session.count > 0)
		wait_seconds(&session, arguments->options.for_time.seconds);
	int end_status = end(&session, output);
	return end_status > status ? end_status : status;
}
