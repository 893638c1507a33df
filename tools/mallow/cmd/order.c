/* SPDX-License-Identifier: MIT
 * order.c -- `mallow start`, `stop`, `set` and `reset`: orders to live processes.
 * Each says what it found, so that a second one is seen to change nothing. */
#include <stdio.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/load.h"
#include "cmd/show.h"
#include "live/control.h"

/* Long enough for a busy process, which refills thousands of times a second; short for a person. */
#define DEFAULT_WAIT_SECONDS 2.0

typedef struct order_job {
	const mw_order_t *order;
	double wait_seconds;
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
	}
	if (talk->outcome == MW_OUTCOME_PENDING)
		fputs(": ordered; takes effect at the process's next refill", stdout);
	putchar('\n');
}

static int order_target(const mw_target_t *target, const void *context, mw_error_t *error) {
	const order_job_t *job = context;
	const mw_order_t *order = job->order;
	if (!target->is_state)
		return mw_error_set(error, "%s: it is a profile, not a process; give a pid",
				    target->shown);
	if (!target->alive)
		return mw_error_set(error,
				    "pid %d: the process has ended; its profile can still be read "
				    "with 'mallow report %s'",
				    target->pid, target->shown);
	mw_conversation_t talk;
	if (mw_control_order(target->path, target->shown, order, job->wait_seconds, &talk, error) !=
	    0)
		return -1;
	printf("pid %d: ", target->pid);
	if (talk.outcome == MW_OUTCOME_NOTHING)
		say_nothing_changed(order, &talk);
	else
		say_changed(order, &talk);
	return 0;
}

static int order_all(const mw_arguments_t *arguments, const mw_order_t *order) {
	const mw_option_value_t *wait = mw_argument(arguments, "wait");
	order_job_t job = {
		.order = order,
		.wait_seconds = wait->given ? wait->seconds : DEFAULT_WAIT_SECONDS,
	};
	int status = MW_EXIT_FINE;
	for (unsigned i = 0; i < arguments->operand_count; i++)
		if (mw_on_target(arguments->operands[i], order_target, &job) != 0)
			status = MW_EXIT_TROUBLE;
	return status;
}

int mw_cmd_start(const mw_arguments_t *arguments) {
	return order_all(arguments, &(mw_order_t){.kind = MW_ORDER_START});
}

int mw_cmd_stop(const mw_arguments_t *arguments) {
	return order_all(arguments, &(mw_order_t){.kind = MW_ORDER_STOP});
}

int mw_cmd_reset(const mw_arguments_t *arguments) {
	return order_all(arguments, &(mw_order_t){.kind = MW_ORDER_RESET});
}

/* Splits the operands into targets and the setting; false: complained. */
static bool take_setting(mw_arguments_t *arguments, mw_order_t *order) {
	unsigned targets = 0;
	for (unsigned i = 0; i < arguments->operand_count; i++) {
		char *word = arguments->operands[i];
		if (strncmp(word, "rate=", 5) == 0) {
			if (!mw_parse_bytes(word + 5, &order->mean_bytes)) {
				mw_complain(
					"set: rate does not take '%s'; allowed: bytes from 1 to "
					"1T, such as 524288, 512K or 4M",
					word + 5);
				return false;
			}
		} else if (strchr(word, '=') && !strchr(word, '/')) {
			mw_complain("set: unknown setting '%s'; allowed: rate=BYTES", word);
			return false;
		} else {
			arguments->operands[targets++] = word;
		}
	}
	arguments->operand_count = targets;
	if (order->mean_bytes == 0 || targets == 0) {
		mw_complain("set: %s is missing; usage: mallow set %s",
			    targets == 0 ? "a TARGET" : "rate=BYTES",
			    arguments->subcommand->operands);
		return false;
	}
	return true;
}

int mw_cmd_set(const mw_arguments_t *arguments) {
	mw_arguments_t targets = *arguments;
	mw_order_t order = {.kind = MW_ORDER_RATE};
	if (!take_setting(&targets, &order))
		return MW_EXIT_TROUBLE;
	return order_all(&targets, &order);
}
