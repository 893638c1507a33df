/* SPDX-License-Identifier: MIT
 * apart.c -- a process or a thread that does one thing, and tells by a pipe how that went. */
#include "live/files/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "model/monotonic.h"

/* How long a killed process may take to end: one that the kernel has wait for a page that another
 * process is to give does not end before it has the page. */
#define END_WAIT_MS 1000
#define END_LOOK_NS 1000000
#define NS_PER_MS 1000000u

/* Written and read as a whole. */
typedef struct report {
	mw_apart_outcome_t outcome;
	mw_error_t error;
} report_t;
_Static_assert(sizeof(report_t) <= PIPE_BUF, "the pipe takes it at once");

typedef enum answer { TOLD, ENDED, LATE } answer_t;

static bool tell(int output, mw_apart_work_t *work, const void *context) {
	report_t report = {0};
	report.outcome = work(context, &report.error);
	/* Nobody reads it if the command has ended or waits no more: SIGPIPE is blocked. */
	return write(output, &report, sizeof(report)) == (ssize_t)sizeof(report);
}

/* Waits for the report or the end of the pipe. */
static answer_t read_report(int input, int limit_ms, report_t *report) {
	struct pollfd end = {.fd = input, .events = POLLIN};
	int64_t until_ms = (int64_t)(mw_monotonic_ns() / NS_PER_MS) + limit_ms;
	for (;;) {
		int64_t rest_ms = until_ms - (int64_t)(mw_monotonic_ns() / NS_PER_MS);
		int ready = poll(&end, 1, rest_ms > 0 ? (int)rest_ms : 0);
		if (ready == 0)
			return LATE;
		ssize_t bytes = ready > 0 ? read(input, report, sizeof(*report)) : -1;
		if (bytes >= 0)
			return bytes == (ssize_t)sizeof(*report) ? TOLD : ENDED;
		if (errno != EINTR)
			return ENDED;
	}
}

static mw_apart_outcome_t outcome_of(answer_t answer, const report_t *report, mw_error_t *error) {
	if (answer == LATE)
		return MW_APART_LATE;
	if (answer == ENDED) {
		mw_error_set(error, "it was not woken: the process that wakes it has ended");
		return MW_APART_FAILED;
	}
	if (error != NULL)
		*error = report->error;
	return report->outcome;
}

/* Whoever reads the output of this command would wait for a process that does not end. */
static void leave_standard_files(void) {
	int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (nowhere < 0 || dup2(nowhere, fd) < 0)
			close(fd);
}

/* One that does not end is left to whom the kernel gives it when this command ends. */
static void end_killed(pid_t pid) {
	const struct timespec pause = {.tv_nsec = END_LOOK_NS};
	int64_t until_ms = (int64_t)(mw_monotonic_ns() / NS_PER_MS) + END_WAIT_MS;
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, WNOHANG) == 0 &&
	       (int64_t)(mw_monotonic_ns() / NS_PER_MS) < until_ms)
		nanosleep(&pause, NULL);
}

mw_apart_outcome_t mw_apart_do(mw_apart_work_t *work, const void *context, int limit_ms,
			       mw_error_t *error) {
	int ends[2];
	sigset_t all, before;
	report_t report;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return MW_APART_REFUSED;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork();
	if (pid == 0) {
		setsid();
		leave_standard_files();
		_exit(tell(ends[1], work, context) ? 0 : 1);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	answer_t answer = pid > 0 ? read_report(ends[0], limit_ms, &report) : ENDED;
	close(ends[0]);
	if (pid < 0)
		return MW_APART_REFUSED;
	if (answer == LATE)
		end_killed(pid);
	else
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			continue;
	return outcome_of(answer, &report, error);
}

typedef struct job {
	mw_apart_work_t *work;
	int output;
	_Alignas(max_align_t) char context[];
} job_t;

static void *do_job(void *argument) {
	const job_t *job = argument;
	tell(job->output, job->work, job->context);
	return NULL;
}

static int start_thread(pthread_t *thread, job_t *job) {
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int result = pthread_create(thread, NULL, do_job, job);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return result;
}

mw_apart_outcome_t mw_apart_do_in_thread(mw_apart_work_t *work, const void *context,
					 size_t context_bytes, int limit_ms, mw_error_t *error) {
	int ends[2] = {-1, -1};
	pthread_t thread;
	report_t report;
	answer_t answer = ENDED;
	job_t *job = malloc(sizeof(*job) + context_bytes);
	if (job != NULL && pipe2(ends, O_CLOEXEC) == 0) {
		job->work = work;
		job->output = ends[1];
		memcpy(job->context, context, context_bytes);
		if (start_thread(&thread, job) == 0)
			answer = read_report(ends[0], limit_ms, &report);
		if (answer == TOLD)
			pthread_join(thread, NULL);
		/* Else the thread uses the job and the pipe, which end with this process. */
		if (answer == LATE)
			return pthread_detach(thread), MW_APART_LATE;
		close(ends[0]);
		close(ends[1]);
	}
	free(job);
	return outcome_of(answer, &report, error);
}
