/* SPDX-License-Identifier: MIT
 * start_stop.c -- `mallow start`, `stop` and `reset`: requests to live processes.
 * The output names the state before the request, so that a second request visibly changes
 * nothing. */
#include <stdio.h>

#include "cli/complain.h"
#include "cli/print.h"
#include "cmd/input/cpu_rate.h"
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
	case MW_REQUEST_LEAK_CHECK:
	case MW_REQUEST_TRIM:
	case MW_REQUEST_LEASE:
	case MW_REQUEST_LEASE_END:
	case MW_REQUEST_CPU:
		break; /* set.c and dump.c, and say_cpu() print these */
	}
	char pending[MW_PENDING_BYTES];
	if (reply->outcome == MW_OUTCOME_PENDING)
		printf(": %s", mw_control_pending(reply, pending));
	putchar('\n');
}

static void show_cpu(uint32_t hz, char text[MW_SHOW_BYTES]) {
	if (hz == 0)
		snprintf(text, MW_SHOW_BYTES, "off");
	else
		snprintf(text, MW_SHOW_BYTES, "on, %u Hz%s", mw_cpu_hz(hz), mw_cpu_of_source(hz));
}

/* Prints the outcome of a request about CPU samples. */
static void say_cpu(const mw_reply_t *reply) {
	char was[MW_SHOW_BYTES], is[MW_SHOW_BYTES], time[MW_SHOW_BYTES];
	char since[2 * MW_SHOW_BYTES] = "", pending[MW_PENDING_BYTES];
	show_cpu(reply->was_cpu_hz, was);
	show_cpu(reply->cpu_hz, is);
	if (reply->was_cpu_changed_ns != 0)
		snprintf(since, sizeof(since), " since %s",
			 mw_show_time(reply->was_cpu_changed_ns, time));
	if (reply->outcome == MW_OUTCOME_NOTHING)
		printf("CPU time: already %s%s; nothing changed\n",
		       reply->was_pending ? "pending: " : was, reply->was_pending ? was : since);
	else
		printf("CPU time: %s (was %s%s)%s%s\n", is, was, since,
		       reply->outcome == MW_OUTCOME_PENDING ? ": " : "",
		       reply->outcome == MW_OUTCOME_PENDING ? mw_control_pending(reply, pending)
							    : "");
}

/* Prints whether all threads follow the new rate.  Returns 1 if some do not yet. */
static int say_following(const mw_target_t *target, double wait_seconds, mw_error_t *error) {
	mw_follow_t follow = {0};
	if (mw_control_wait_threads(target, wait_seconds, &follow, error) != 0)
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

/* Samples that another command asked for until it ends: no order to start or stop changes them. */
static void say_lease(const mw_target_t *target, const mw_request_t *request,
		      const mw_reply_t *reply) {
	char text[MW_SHOW_BYTES];
	if (request->kind == MW_REQUEST_CPU && reply->cpu_lease_hz != 0) {
		show_cpu(reply->cpu_lease_hz, text);
		mw_complain("note: pid %d: until another mallow ends, CPU time is %s", target->pid,
			    text);
	}
	if ((request->kind == MW_REQUEST_START || request->kind == MW_REQUEST_STOP) &&
	    reply->has_heap_lease)
		mw_complain("note: pid %d: until another 'mallow start --for' ends, sampling is on",
			    target->pid);
}

static int request_target(const mw_target_t *target, const void *context, mw_error_t *error) {
	const request_job_t *job = context;
	const mw_request_t *request = job->request;
	mw_reply_t reply = {0};
	if (mw_control_send(target, request, job->wait_seconds, &reply, error) != 0)
		return -1;
	printf("pid %d: ", target->pid);
	if (request->kind == MW_REQUEST_CPU) {
		say_cpu(&reply);
		say_lease(target, request, &reply);
		return MW_EXIT_FINE;
	}
	say_lease(target, request, &reply);
	if (reply.outcome == MW_OUTCOME_NOTHING)
		say_nothing_changed(request, &reply);
	else
		say_changed(request, &reply);
	return job->strict ? say_following(target, job->wait_seconds, error) : MW_EXIT_FINE;
}

static int send_to_all(const mw_arguments_t *arguments, mw_request_t request, bool strict) {
	const mw_seconds_value_t *wait = &arguments->options.wait;
	request_job_t job = {
		.request = &request,
		.wait_seconds = wait->given ? wait->seconds : MW_REQUEST_WAIT_SECONDS,
		.strict = strict,
	};
	return mw_on_selected(arguments, request_target, &job);
}

static int request_all(const mw_arguments_t *arguments, mw_request_kind_t kind, bool strict) {
	return send_to_all(arguments, (mw_request_t){.kind = kind}, strict);
}

static int request_cpu(const mw_arguments_t *arguments, uint32_t hz) {
	return send_to_all(arguments, (mw_request_t){.kind = MW_REQUEST_CPU, .cpu_hz = hz}, false);
}

/* Begins to sample CPU time. */
static int start_cpu(const mw_arguments_t *arguments) {
	static const char *const others[] = {"for", "output", "strict"};
	uint32_t hz = MW_CPU_DEFAULT_HZ;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (mw_argument(arguments, others[i])->given) {
			mw_complain("start: --%s and --cpu do not go together; 'mallow cpu' "
				    "profiles for some time",
				    others[i]);
			return MW_EXIT_TROUBLE;
		}
	if (!mw_cpu_rate_take(arguments, &arguments->options.rate, &hz))
		return MW_EXIT_TROUBLE;
	return request_cpu(arguments, hz);
}

int mw_cmd_start(const mw_arguments_t *arguments) {
	if (arguments->options.cpu.given)
		return start_cpu(arguments);
	if (arguments->options.rate.given || arguments->options.cpu_rate.given) {
		mw_complain("start: --cpu-rate goes with --cpu; 'mallow set PID rate=BYTES' "
			    "changes the heap's rate");
		return MW_EXIT_TROUBLE;
	}
	if (arguments->options.wall.given) {
		mw_complain("start: --wall goes with --cpu");
		return MW_EXIT_TROUBLE;
	}
	if (arguments->options.event.given) {
		mw_complain("start: --event goes with --cpu");
		return MW_EXIT_TROUBLE;
	}
	if (arguments->options.for_time.given)
		return mw_session(arguments);
	if (arguments->options.output.given) {
		mw_complain("start: --output needs --for TIME: only a session of limited time "
			    "writes a profile");
		return MW_EXIT_TROUBLE;
	}
	return request_all(arguments, MW_REQUEST_START, arguments->options.strict.given);
}

int mw_cmd_stop(const mw_arguments_t *arguments) {
	if (arguments->options.cpu.given)
		return request_cpu(arguments, 0);
	return request_all(arguments, MW_REQUEST_STOP, arguments->options.strict.given);
}

int mw_cmd_reset(const mw_arguments_t *arguments) {
	return request_all(arguments, MW_REQUEST_RESET, false);
}
