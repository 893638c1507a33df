/* SPDX-License-Identifier: MIT
 * set.c -- `mallow set`: changes the rate and the settings of state/settings.def. */
#include <stdio.h>
#include <string.h>

#include "cli/complain.h"
#include "cli/print.h"
#include "cli/suggest.h"
#include "cmd/input/selected_processes.h"
#include "cmd/process/process_commands.h"
#include "cmd/process/settings.h"
#include "live/control.h"

/* Changes that the operands ask for. */
typedef struct wishes {
	mw_request_t rate;     /* mean_bytes 0 = no change of the rate */
	mw_request_t settings; /* mask 0 and no name = no change of settings */
	double wait_seconds;
} wishes_t;

static void complain_unknown(const char *word) {
	char names[1024] = "rate, dump_name", name[64];
	mw_suggestion_t meant = {NULL, 0};
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	mw_suggest(&meant, name, "rate");
	mw_suggest(&meant, name, "dump_name");
	for (size_t i = 0; i < MW_SETTING_COUNT; i++) {
		mw_suggest(&meant, name, mw_setting_name((mw_setting_t)i));
		strncat(names, ", ", sizeof(names) - strlen(names) - 1);
		strncat(names, mw_setting_name((mw_setting_t)i), sizeof(names) - strlen(names) - 1);
	}
	if (meant.best != NULL)
		mw_complain("set: unknown setting '%s'; did you mean '%s'? 'mallow set --help' "
			    "lists all",
			    word, meant.best);
	else
		mw_complain("set: unknown setting '%s'; allowed: %s", word, names);
}

/* Takes one "name=value".  False: a message was printed. */
static bool take_setting(const char *word, wishes_t *wishes) {
	size_t length = strcspn(word, "=");
	const char *text = word + length + 1;
	if (length == 4 && memcmp(word, "rate", 4) == 0) {
		if (mw_parse_bytes(text, &wishes->rate.mean_bytes))
			return true;
		mw_complain("set: rate does not take '%s'; allowed: bytes from 1 to 1T, such as "
			    "524288, 512K or 4M",
			    text);
		return false;
	}
	if (length == 9 && memcmp(word, "dump_name", 9) == 0) {
		wishes->settings.dump_name = text;
		const char *odd = mw_dump_name_odd(text);
		if (odd) {
			mw_complain("set: dump_name does not take '%%%.1s'; allowed: %s", odd + 1,
				    MW_DUMP_NAME_ALLOWED);
			return false;
		}
		if (*text && strlen(text) < MW_STATE_DUMP_NAME_BYTES)
			return true;
		mw_complain("set: dump_name takes 1 to %d characters",
			    MW_STATE_DUMP_NAME_BYTES - 1);
		return false;
	}
	mw_setting_t setting = mw_setting_find(word, length);
	if (setting == MW_SETTING_COUNT) {
		complain_unknown(word);
		return false;
	}
	char buffer[MW_SHOW_BYTES];
	wishes->settings.settings_mask |= (uint64_t)1 << setting;
	if (mw_setting_parse(setting, text, &wishes->settings.settings[setting]))
		return true;
	mw_complain("set: %s does not take '%s'; allowed: %s", mw_setting_name(setting), text,
		    mw_setting_allowed(setting, buffer));
	return false;
}

/* False for a path that contains '='. */
static bool is_setting(const char *word) {
	const char *equals = strchr(word, '=');
	const char *slash = strchr(word, '/');
	return equals && (!slash || slash > equals);
}

/* Splits the operands into targets and settings.  False: a message was printed. */
static bool take_settings(mw_arguments_t *arguments, wishes_t *wishes) {
	unsigned targets = 0, settings = 0;
	for (unsigned i = 0; i < arguments->operand_count; i++) {
		char *word = arguments->operands[i];
		if (!is_setting(word))
			arguments->operands[targets++] = word;
		else if (!take_setting(word, wishes))
			return false;
		else
			settings++;
	}
	arguments->operand_count = targets;
	if (settings > 0)
		return true;
	mw_complain("set: no setting given; usage: mallow set %s; 'mallow set --help' lists the "
		    "settings",
		    arguments->subcommand->operands);
	return false;
}

/* The process has slept since the request and has no signal handler yet, so the signal would end it
 * now. */
static void warn_of_signal(const mw_target_t *target, const mw_request_t *request,
			   const mw_reply_t *reply, mw_setting_t setting) {
	uint64_t number = request->settings[setting];
	if (reply->outcome == MW_OUTCOME_PENDING && number != 0 &&
	    request->settings_mask & (uint64_t)1 << setting)
		mw_complain("note: pid %d: mallow does not handle signal %u yet, and an unhandled "
			    "signal ends most programs; send it after 'mallow status %d' lists %s",
			    target->pid, (unsigned)number, target->pid, mw_setting_name(setting));
}

/* These compare what samples estimate. */
static bool needs_samples(mw_setting_t setting) {
	return setting == MW_SETTING_prof_interval || setting == MW_SETTING_dump_freed ||
	       setting == MW_SETTING_dump_peak || setting == MW_SETTING_dump_peak_percent ||
	       setting == MW_SETTING_dump_live;
}

/* Names the settings that have no effect while sampling is off. */
static void warn_of_no_samples(const mw_target_t *target, const mw_request_t *request,
			       const mw_reply_t *reply) {
	if (reply->was_active || reply->has_heap_lease)
		return;
	for (size_t i = 0; i < MW_SETTING_COUNT; i++)
		if (request->settings_mask & (uint64_t)1 << i && request->settings[i] != 0 &&
		    needs_samples((mw_setting_t)i))
			mw_complain("note: pid %d: sampling is off, and %s counts samples: no dump "
				    "is written before 'mallow start %d'",
				    target->pid, mw_setting_name((mw_setting_t)i), target->pid);
}

static void say_settings(const mw_target_t *target, const mw_request_t *request,
			 const mw_reply_t *reply) {
	char end[MW_PENDING_BYTES + 2] = "", pending[MW_PENDING_BYTES];
	if (reply->outcome == MW_OUTCOME_PENDING)
		snprintf(end, sizeof(end), ": %s", mw_control_pending(reply, pending));
	for (size_t i = 0; i < MW_SETTING_COUNT; i++) {
		mw_setting_t setting = (mw_setting_t)i;
		char now[MW_SHOW_BYTES], was[MW_SHOW_BYTES];
		if (!(request->settings_mask & (uint64_t)1 << i))
			continue;
		const char *value = mw_show_setting(setting, request->settings[i], now);
		if (request->settings[i] == reply->was_settings[i])
			printf("pid %d: %s is %s already; nothing changed\n", target->pid,
			       mw_setting_name(setting), value);
		else
			printf("pid %d: %s = %s (was %s)%s\n", target->pid,
			       mw_setting_name(setting), value,
			       mw_show_setting(setting, reply->was_settings[i], was), end);
	}
	warn_of_signal(target, request, reply, MW_SETTING_dump_signal);
	warn_of_signal(target, request, reply, MW_SETTING_leak_signal);
	warn_of_no_samples(target, request, reply);
	char name[MW_STATE_DUMP_NAME_BYTES], was[MW_STATE_DUMP_NAME_BYTES];
	if (request->dump_name)
		printf("pid %d: dump_name = %s (was %s)%s\n", target->pid,
		       mw_show_text(request->dump_name, name, sizeof(name)),
		       mw_show_text(reply->was_dump_name, was, sizeof(was)), end);
}

static void say_rate(const mw_target_t *target, const mw_reply_t *reply) {
	char rate[MW_SHOW_BYTES], before[MW_SHOW_BYTES], pending[MW_PENDING_BYTES];
	bool is_pending = reply->outcome == MW_OUTCOME_PENDING;
	mw_show_rate(reply->mean_bytes, rate);
	printf("pid %d: ", target->pid);
	if (reply->outcome != MW_OUTCOME_NOTHING)
		printf("T = %s (was %s), sampling is %s%s%s\n", rate,
		       mw_show_rate(reply->was_mean_bytes, before),
		       reply->was_active ? "on" : "off", is_pending ? ": " : "",
		       is_pending ? mw_control_pending(reply, pending) : "");
	else if (reply->was_pending)
		printf("already pending: %s, T = %s; takes effect once the process allocates; "
		       "nothing changed\n",
		       reply->was_active ? "on" : "off", rate);
	else
		printf("T is already %s, sampling is %s; nothing changed\n", rate,
		       reply->was_active ? "on" : "off");
}

static int set_target(const mw_target_t *target, const void *context, mw_error_t *error) {
	const wishes_t *wishes = context;
	mw_reply_t reply;
	if (wishes->rate.mean_bytes != 0) {
		if (mw_control_send(target, &wishes->rate, wishes->wait_seconds, &reply, error) !=
		    0)
			return -1;
		say_rate(target, &reply);
	}
	if (wishes->settings.settings_mask == 0 && !wishes->settings.dump_name)
		return MW_EXIT_FINE;
	if (mw_control_send(target, &wishes->settings, wishes->wait_seconds, &reply, error) != 0)
		return -1;
	say_settings(target, &wishes->settings, &reply);
	return MW_EXIT_FINE;
}

int mw_cmd_set(const mw_arguments_t *arguments) {
	const mw_seconds_value_t *wait = &arguments->options.wait;
	mw_arguments_t targets = *arguments;
	wishes_t wishes = {
		.rate = {.kind = MW_REQUEST_RATE},
		.settings = {.kind = MW_REQUEST_SETTINGS},
		.wait_seconds = wait->given ? wait->seconds : MW_REQUEST_WAIT_SECONDS,
	};
	if (!take_settings(&targets, &wishes))
		return MW_EXIT_TROUBLE;
	return mw_on_selected(&targets, set_target, &wishes);
}
