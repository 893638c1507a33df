/* SPDX-License-Identifier: MIT
 * order.c -- `mallow start`, `stop` and `reset`: orders to live processes.
 * Each says what it found, so that a second one is seen to change nothing. */
#include "cmd/order.h"

#include <stdio.h>

#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/select.h"
#include "cmd/session.h"
#include "cmd/show.h"

typedef struct order_job {
	const mw_order_t *order;
	double wait_seconds;
	bool strict;
} order_job_t;

static void say_nothing_changed(const mw_order_t *order, const mw_conversation_t *talk) {
	char rate[MW_SHOW_BYTES], since[MW_SHOW_BYTES];
	mw_show_rate(talk->was_mean_bytes, rate);
	if (talk->was_pending)
		printf("already ordered: %s, T = %s; takes effect at the process's next refill; "
		       "nothing changed\n",
		       talk->was_active ? "on" : "off", rate);
	else if (order->kind == MW_ORDER_RATE)
		printf("T is already %s, sampling is %s; nothing changed\n", rate,
		       talk->was_active ? "on" : "off");
	else
		printf("already %s since %s, T = %s; nothing changed\n",
		       talk->was_active ? "on" : "off", mw_show_time(talk->was_changed_ns, since),
		       rate);
}

static void say_changed(const mw_order_t *order, const mw_conversation_t *talk) {
	char rate[MW_SHOW_BYTES], before[MW_SHOW_BYTES], since[MW_SHOW_BYTES];
	const char *was = talk->was_active ? "on" : "off";
	mw_show_rate(talk->mean_bytes, rate);
	switch (order->kind) {
	case MW_ORDER_START:
	case MW_ORDER_STOP:
		printf("%s, T = %s (was %s", talk->is_active ? "on" : "off", rate, was);
		if (talk->was_changed_ns)
			printf(" since %s", mw_show_time(talk->was_changed_ns, since));
		putchar(')');
		break;
	case MW_ORDER_RATE:
		printf("T = %s (was %s), sampling is %s", rate,
		       mw_show_rate(talk->was_mean_bytes, before), was);
		break;
	case MW_ORDER_RESET:
		printf("counters set to zero; sampling is %s, T = %s", was, rate);
		break;
	case MW_ORDER_SETTINGS:
	case MW_ORDER_DUMP:
		break; /* set.c and dump.c speak of them */
	}
	if (talk->outcome == MW_OUTCOME_PENDING)
		fputs(": ordered; takes effect at the process's next refill", stdout);
	putchar('\n');
}

int mw_order_give(const mw_target_t *target, const mw_order_t *order, double wait_seconds,
		  mw_conversation_t *talk, mw_error_t *error) {
	if (!target->is_state)
		return mw_error_set(error, "%s: it is a profile, not a process; give a pid",
				    target->shown);
	if (!target->alive)
		return mw_error_set(error,
				    "pid %d: the process has ended; its profile can still be read "
				    "with 'mallow report %s'",
				    target->pid, target->shown);
	return mw_control_order(target->path, target->shown, order, wait_seconds, talk, error);
}

/* Says whether all threads follow; 1 when some do not yet. */
static int say_settled(const mw_target_t *target, double wait_seconds, mw_error_t *error) {
	mw_settling_t settling = {0};
	if (mw_control_settle(target->path, target->shown, wait_seconds, &settling, error) != 0)
		return -1;
	if (!settling.seen)
		printf("pid %d: no thread has allocated for %.3g s: all follow at their next "
		       "refill\n",
		       target->pid, wait_seconds);
	else if (settling.behind > 0)
		printf("pid %d: %u of %u threads %s not allocated for %.3g s: %s\n", target->pid,
		       settling.behind, settling.threads, settling.behind == 1 ? "has" : "have",
		       wait_seconds,
		       settling.behind == 1 ? "it follows at its next refill"
					    : "they follow at their next refill");
	else if (settling.threads == 1)
		printf("pid %d: its thread follows\n", target->pid);
	else
		printf("pid %d: all %u threads follow\n", target->pid, settling.threads);
	return settling.seen && settling.behind == 0 ? MW_EXIT_FINE : MW_EXIT_FINDING;
}

static int order_target(const mw_target_t *target, const void *context, mw_error_t *error) {
	const order_job_t *job = context;
	const mw_order_t *order = job->order;
	mw_conversation_t talk = {0};
	if (mw_order_give(target, order, job->wait_seconds, &talk, error) != 0)
		return -1;
	printf("pid %d: ", target->pid);
	if (talk.outcome == MW_OUTCOME_NOTHING)
		say_nothing_changed(order, &talk);
	else
		say_changed(order, &talk);
	return job->strict ? say_settled(target, job->wait_seconds, error) : MW_EXIT_FINE;
}

static int order_all(const mw_arguments_t *arguments, mw_order_kind_t kind, bool strict) {
	const mw_option_value_t *wait = mw_argument(arguments, "wait");
	mw_order_t order = {.kind = kind};
	order_job_t job = {
		.order = &order,
		.wait_seconds = wait->given ? wait->seconds : MW_ORDER_WAIT_SECONDS,
		.strict = strict,
	};
	return mw_on_selected(arguments, order_target, &job);
}

int mw_cmd_start(const mw_arguments_t *arguments) {
	if (mw_argument(arguments, "for")->given)
		return mw_session(arguments);
	if (mw_argument(arguments, "output")->given) {
		mw_complain("start: --output is for the profile of a session; say how long with "
			    "--for");
		return MW_EXIT_TROUBLE;
	}
	return order_all(arguments, MW_ORDER_START, mw_argument(arguments, "strict")->given);
}

int mw_cmd_stop(const mw_arguments_t *arguments) {
	return order_all(arguments, MW_ORDER_STOP, mw_argument(arguments, "strict")->given);
}

int mw_cmd_reset(const mw_arguments_t *arguments) {
	return order_all(arguments, MW_ORDER_RESET, false);
}
