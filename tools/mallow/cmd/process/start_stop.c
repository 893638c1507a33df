/* SPDX-License-Identifier: MIT
 * start_stop.c -- `mallow start`, `stop` and `reset`: requests to live processes.
 * The output names the state before the request, so that a second request visibly changes
 * nothing. */
#include <stdio.h>

#include "cli/complain.h"
#include "cli/print.h"
#include "cmd/input/selected_processes.h"
#include "cmd/process/process_commands.h"
#include "cmd/process/session.h"
#include "live/control.h"

typedef struct request_job {
	const mw_request_t *request;
	double wait_seconds;
	bool strict;
} request_job_t;

static void say_nothing_changed(const mw_request_t *request, const mw_reply_t *reply) {
	char rate[MW_SHOW_BYTES], since[MW_SHOW_BYTES];
	mw_show_rate(reply->was_mean_bytes, rate);
	if (reply->was_pending)
		printf("already pending: %s, T = %s; takes effect once the process allocates; "
		       "nothing changed\n",
		       reply->was_active ? "on" : "off", rate);
	else if (request->kind == MW_REQUEST_RATE)
		printf("T is already %s, sampling is %s; nothing changed\n", rate,
		       reply->was_active ? "on" : "off");
	else
		printf("already %s since %s, T = %s; nothing changed\n",
		       reply->was_active ? "on" : "off", mw_show_time(reply->was_changed_ns, since),
		       rate);
}

static void say_changed(const mw_request_t *request, const mw_reply_t *reply) {
	char rate[MW_SHOW_BYTES], before[MW_SHOW_BYTES], since[MW_SHOW_BYTES];
	const char *was = reply->was_active ? "on" : "off";
	mw_show_rate(reply->mean_bytes, rate);
	switch (request->kind) {
	case MW_REQUEST_START:
	case MW_REQUEST_STOP:
		printf("%s, T = %s (was %s", reply->is_active ? "on" : "off", rate, was);
		if (reply->was_changed_ns)
			printf(" since %s", mw_show_time(reply->was_changed_ns, since));
		putchar(')');
		break;
	case MW_REQUEST_RATE:
		printf("T = %s (was %s), sampling is %s", rate,
		       mw_show_rate(reply->was_mean_bytes, before), was);
		break;
	case MW_REQUEST_RESET:
		printf("counters set to zero; sampling is %s, T = %s", was, rate);
		break;
	case MW_REQUEST_SETTINGS:
	case MW_REQUEST_DUMP:
	case MW_REQUEST_WALK:
		break; /* set.c and dump.c print these */
	}
	if (reply->outcome == MW_OUTCOME_PENDING)
		fputs(": pending; takes effect once the process allocates", stdout);
	putchar('\n');
}

/* Prints whether all threads follow the new rate.  Returns 1 if some do not yet. */
static int say_following(const mw_target_t *target, double wait_seconds, mw_error_t *error) {
	mw_follow_t follow = {0};
	if (mw_control_wait_threads(target->path, target->shown, wait_seconds, &follow, error) != 0)
		return -1;
	if (!follow.seen)
		printf("pid %d: no thread has allocated for %.3g s: all follow once they "
		       "allocate\n",
		       target->pid, wait_seconds);
	else if (follow.behind > 0)
		printf("pid %d: %u of %u threads %s not allocated for %.3g s: %s\n", target->pid,
		       follow.behind, follow.threads, follow.behind == 1 ? "has" : "have",
		       wait_seconds,
		       follow.behind == 1 ? "it follows once it allocates"
					  : "they follow once they allocate");
	else if (follow.threads == 1)
		printf("pid %d: its thread follows\n", target->pid);
	else
		printf("pid %d: all %u threads follow\n", target->pid, follow.threads);
	return follow.seen && follow.behind == 0 ? MW_EXIT_FINE : MW_EXIT_FINDING;
}

static int request_target(const mw_target_t *target, const void *context, mw_error_t *error) {
	const request_job_t *job = context;
	const mw_request_t *request = job->request;
	mw_reply_t reply = {0};
	if (mw_control_send(target, request, job->wait_seconds, &reply, error) != 0)
		return -1;
	printf("pid %d: ", target->pid);
	if (reply.outcome == MW_OUTCOME_NOTHING)
		say_nothing_changed(request, &reply);
	else
		say_changed(request, &reply);
	return job->strict ? say_following(target, job->wait_seconds, error) : MW_EXIT_FINE;
}

static int request_all(const mw_arguments_t *arguments, mw_request_kind_t kind, bool strict) {
	const mw_option_value_t *wait = mw_argument(arguments, "wait");
	mw_request_t request = {.kind = kind};
	request_job_t job = {
		.request = &request,
		.wait_seconds = wait->given ? wait->seconds : MW_REQUEST_WAIT_SECONDS,
		.strict = strict,
	};
	return mw_on_selected(arguments, request_target, &job);
}

int mw_cmd_start(const mw_arguments_t *arguments) {
	if (mw_argument(arguments, "for")->given)
		return mw_session(arguments);
	if (mw_argument(arguments, "output")->given) {
		mw_complain("start: --output needs --for TIME: only a session of limited time "
			    "writes a profile");
		return MW_EXIT_TROUBLE;
	}
	return request_all(arguments, MW_REQUEST_START, mw_argument(arguments, "strict")->given);
}

int mw_cmd_stop(const mw_arguments_t *arguments) {
	return request_all(arguments, MW_REQUEST_STOP, mw_argument(arguments, "strict")->given);
}

int mw_cmd_reset(const mw_arguments_t *arguments) {
	return request_all(arguments, MW_REQUEST_RESET, false);
}
