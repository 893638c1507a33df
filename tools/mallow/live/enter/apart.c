/* SPDX-License-Identifier: MIT
 * apart.c -- a process that does one thing, and tells by a pipe how that went. */
#include "live/enter/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

/* Written and read as a whole. */
typedef struct report {
	mw_apart_outcome_t outcome;
	mw_error_t error;
} report_t;
_Static_assert(sizeof(report_t) <= PIPE_BUF, "the pipe takes it at once");

static _Noreturn void work_apart(mw_apart_work_t *work, const void *context, int output) {
	report_t report = {0};
	setsid();
	report.outcome = work(context, &report.error);
	/* Nobody reads it if the command has ended: SIGPIPE is blocked. */
	_exit(write(output, &report, sizeof(report)) == (ssize_t)sizeof(report) ? 0 : 1);
}

/* Returns whether the process has told. */
static bool read_report(int input, report_t *report) {
	ssize_t bytes;
	while ((bytes = read(input, report, sizeof(*report))) < 0 && errno == EINTR)
		continue;
	return bytes == (ssize_t)sizeof(*report);
}

mw_apart_outcome_t mw_apart_do(mw_apart_work_t *work, const void *context, mw_error_t *error) {
	int ends[2];
	sigset_t all, before;
	report_t report;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return MW_APART_REFUSED;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork();
	if (pid == 0)
		work_apart(work, context, ends[1]);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	bool is_told = pid > 0 && read_report(ends[0], &report);
	close(ends[0]);
	if (pid < 0)
		return MW_APART_REFUSED;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	if (!is_told) {
		mw_error_set(error, "it was not woken: the process that wakes it has ended");
		return MW_APART_FAILED;
	}
	if (error != NULL)
		*error = report.error;
	return report.outcome;
}
