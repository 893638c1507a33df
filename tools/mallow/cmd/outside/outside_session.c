/* SPDX-License-Identifier: MIT
 * outside_session.c -- the signals, the process, the notes. */
#include "cmd/outside/outside_session.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/complain.h"
#include "cli/terminal.h"
#include "cmd/outside/live_process.h"

#define MEAN_BYTES ((uint64_t)512 << 10)

static int stop_fd = -1;

/* Async-signal-safe. */
static void on_interrupt(int signal_number) {
	int number = errno;
	const uint64_t one = 1;
	(void)signal_number;
	if (write(stop_fd, &one, sizeof(one)) < 0)
		return;
	errno = number;
}

static void progress(int pid, double seconds) {
	mw_progress("pid %d: sampling from outside, %.0f s", pid, seconds);
}

static void begun(int pid) {
	mw_complain("pid %d: sampling from outside; ^C ends it early", pid);
}

static void begun_cpu(int pid) {
	mw_complain("pid %d: sampling CPU time from outside; ^C ends it early", pid);
}

/* Probes and the library would see each other's work; a clock may watch any process. */
static int check_has_no_library(const mw_process_t *process, mw_error_t *error) {
	if (!mw_process_has_library(process->pid))
		return 0;
	return mw_error_set(error,
			    "pid %d: it runs with mallow already: 'mallow report %d' shows its "
			    "profile",
			    process->pid, process->pid);
}

static int find_process(const char *text, mw_process_t *out, mw_error_t *error) {
	if (mw_live_process_find(text, out, error) != 0)
		return -1;
	if (mw_process_has_ended(out->pid, out->start_ticks))
		return mw_error_set(error, "pid %d: the process has ended", out->pid);
	if (out->is_kernel)
		return mw_error_set(error, "pid %d: it is a thread of the kernel", out->pid);
	return 0;
}

static int run(mw_outside_session_t *session, mw_error_t *error) {
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_interrupt}, former[3];
	stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (stop_fd < 0)
		return mw_error_set(error, "cannot make an event: %s", strerror(errno));
	session->options.stop_fd = stop_fd;
	session->options.pid = session->process.pid;
	session->options.start_ticks = session->process.start_ticks;
	session->options.progress = mw_terminal_columns(stderr) > 0 ? progress : NULL;
	for (size_t i = 0; i < 3; i++)
		sigaction(signals[i], &action, &former[i]);
	int result = mw_outside_run(&session->options, &session->result, error);
	for (size_t i = 0; i < 3; i++)
		sigaction(signals[i], &former[i], NULL);
	close(stop_fd);
	mw_progress_end();
	/* It may have got its name meanwhile, if it had just been started. */
	mw_process_t now;
	if (mw_process_read(session->process.pid, &now) &&
	    now.start_ticks == session->process.start_ticks)
		session->process = now;
	return result;
}

int mw_outside_session(const mw_arguments_t *arguments, double seconds, double older_seconds,
		       mw_outside_session_t *out, mw_error_t *error) {
	const mw_number_value_t *rate = &arguments->options.rate;
	uint64_t mean_bytes = rate->given ? rate->number : MEAN_BYTES;
	*out = (mw_outside_session_t){.process = {.pid = 0}};
	if (find_process(arguments->operands[0], &out->process, error) != 0 ||
	    check_has_no_library(&out->process, error) != 0)
		return -1;
	out->options = (mw_outside_options_t){
		.mean_bytes = arguments->options.exact.given ? 1 : mean_bytes,
		.seconds = seconds,
		.older_seconds = older_seconds,
		.is_forced = arguments->options.force.given,
		.begun = begun,
	};
	return run(out, error);
}

int mw_outside_session_cpu(const char *process, unsigned hz, double seconds,
			   mw_outside_session_t *out, mw_error_t *error) {
	*out = (mw_outside_session_t){.process = {.pid = 0}};
	if (find_process(process, &out->process, error) != 0)
		return -1;
	out->options = (mw_outside_options_t){.cpu_hz = hz, .seconds = seconds, .begun = begun_cpu};
	return run(out, error);
}

void mw_outside_session_release(mw_outside_session_t *session) {
	mw_outside_result_release(&session->result);
}

void mw_outside_session_notes(const mw_outside_session_t *session) {
	const mw_outside_result_t *result = &session->result;
	int pid = session->process.pid;
	if (result->end == MW_OUTSIDE_ENDED)
		mw_complain("note: pid %d: the process ended after %.3g s", pid, result->seconds);
	if (result->end == MW_OUTSIDE_EXEC)
		mw_complain("note: pid %d: the process started another program (exec) after %.3g s",
			    pid, result->seconds);
	if (result->end == MW_OUTSIDE_COSTLY)
		mw_complain("note: pid %d: it allocates more often by now, the probes took %.3g %% "
			    "of its CPU time: they were removed after %.3g s; --force keeps them",
			    pid, result->end_share * 100, result->seconds);
	if (result->end == MW_OUTSIDE_FULL)
		mw_complain("note: pid %d: there was no room for more samples after %.3g s", pid,
			    result->seconds);
	if (result->lost > 0)
		mw_complain("note: pid %d: %llu of %llu samples were lost, because they came "
			    "faster than they could be read: sums are too small",
			    pid, (unsigned long long)result->lost,
			    (unsigned long long)(result->lost + result->samples));
	if (result->unfollowed > 0)
		mw_complain("note: pid %d: %llu sampled blocks count as freed, because the table "
			    "of live ones was full or the block was too large to follow",
			    pid, (unsigned long long)result->unfollowed);
	if (result->truncated > 0)
		mw_complain("note: pid %d: %llu of %llu stacks are truncated: more than %d KiB of "
			    "a stack are not copied",
			    pid, (unsigned long long)result->truncated,
			    (unsigned long long)result->samples, MW_OUTSIDE_STACK_KIB);
	if (result->is_user_only)
		mw_complain("note: pid %d: CPU time in the kernel is left out: the kernel does not "
			    "permit samples of it (kernel.perf_event_paranoid)",
			    pid);
}
