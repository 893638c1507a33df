/* SPDX-License-Identifier: MIT
 * collectors.c -- starts children for due processes, commits what they wrote. */
#include "agent/collectors.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/complain.h"
#include "model/memory.h"

#define NS_PER_SECOND 1000000000ull
/* Last profiles are pushed within a minute, not at one moment on each host of a fleet whose
 * services are killed together. */
#define LAST_WITHIN_NS (60 * NS_PER_SECOND)

/* ---- the work in the child ---- */

typedef struct work {
	const mw_agent_t *agent;
	mw_take_t take;
} work_t;

static int take_profile(void *context) {
	work_t *work = context;
	mw_limit_set(work->agent->rules->memory_bytes);
	return work->agent->calls->take(&work->take);
}

/* ---- starts ---- */

static mw_collector_t *find_free(mw_agent_t *agent) {
	/* Children that sample CPU time wait for most of their time. */
	unsigned most = agent->rules->cpu_hz > 0 ? MW_COLLECTORS_MAX : agent->rules->workers;
	for (unsigned i = 0; i < most && i < MW_COLLECTORS_MAX; i++)
		if (agent->collectors[i].child.pid == 0)
			return &agent->collectors[i];
	return NULL;
}

static double cpu_seconds_of(const mw_agent_t *agent, const mw_agent_process_t *process) {
	const mw_rules_t *rules = agent->rules;
	if (rules->cpu_hz == 0 || !process->found.place.alive)
		return 0;
	return rules->cpu_share * (double)rules->period_ns / (double)NS_PER_SECOND;
}

static void start(mw_agent_t *agent, mw_collector_t *collector, mw_agent_process_t *process,
		  uint64_t now_ns) {
	char path[PATH_MAX];
	mw_error_t error;
	work_t work = {
		.agent = agent,
		.take = {.rules = agent->rules,
			 .folder = &agent->folder,
			 .found = &process->found,
			 .host = agent->host,
			 .path = path,
			 .cpu_seconds = cpu_seconds_of(agent, process),
			 .has_symbols = agent->rules->has_symbols && !process->is_without_names}};
	mw_spool_new_path(&agent->spool, process->found.key, path, sizeof(path));
	uint64_t limit_ns =
		agent->rules->limit_ns + (uint64_t)(work.take.cpu_seconds * (double)NS_PER_SECOND);
	collector->key = process->found.key;
	collector->is_last = !process->found.place.alive;
	if (mw_child_start(&collector->child, take_profile, &work, now_ns + limit_ns, &agent->mask,
			   &error) == 0) {
		process->is_busy = true;
		return;
	}
	mw_metric_add(&agent->metrics->profiles_failed_total, 1);
	if (mw_processes_is_news(process, error.text))
		mw_complain("agent: %s", error.text);
	if (collector->is_last)
		mw_schedule_hasten(&agent->schedule, collector->key, LAST_WITHIN_NS, now_ns);
}

void mw_collectors_start(mw_agent_t *agent, uint64_t now_ns) {
	mw_collector_t *collector;
	uint64_t key;
	while ((collector = find_free(agent)) != NULL &&
	       mw_schedule_take(&agent->schedule, now_ns, &key)) {
		mw_agent_process_t *process = mw_processes_find(&agent->processes, key);
		if (process == NULL || process->is_ignored || process->is_given_up)
			mw_schedule_remove(&agent->schedule, key);
		else if (!process->is_busy)
			start(agent, collector, process, now_ns);
	}
}

uint64_t mw_collectors_wait_ns(const mw_agent_t *agent, uint64_t now_ns) {
	if (find_free((mw_agent_t *)(uintptr_t)agent) == NULL)
		return UINT64_MAX;
	return mw_schedule_wait_ns(&agent->schedule, now_ns);
}

void mw_collectors_plan_last(mw_agent_t *agent, mw_agent_process_t *process, uint64_t now_ns) {
	uint64_t key = process->found.key;
	uint64_t within_ns =
		agent->rules->period_ns < LAST_WITHIN_NS ? agent->rules->period_ns : LAST_WITHIN_NS;
	bool was_pushed =
		mw_ended_has(&agent->ended, key, (int64_t)(mw_agent_real_ns() / NS_PER_SECOND));
	if (was_pushed || process->is_given_up || process->is_ignored) {
		mw_schedule_remove(&agent->schedule, key);
	} else if (!process->is_hastened && !process->is_busy) {
		process->is_hastened = true;
		mw_schedule_hasten(&agent->schedule, key, within_ns, now_ns);
	}
}

/* ---- ends ---- */

/* Says why no entry can be written, until one can. */
static void say_full(mw_agent_t *agent, const char *why) {
	if (!agent->has_said_full)
		mw_complain("agent: %s; profiles are taken when there is room; counts of "
			    "allocations of live processes are not lost",
			    why);
	agent->has_said_full = true;
}

static void note_last(mw_agent_t *agent, uint64_t key) {
	mw_error_t error;
	int64_t now_s = (int64_t)(mw_agent_real_ns() / NS_PER_SECOND);
	mw_metric_add(&agent->metrics->profiles_last_total, 1);
	mw_ended_add(&agent->ended, key, now_s);
	mw_schedule_remove(&agent->schedule, key);
	/* A full disk: the next change or the end tries again. */
	if (mw_ended_save(&agent->ended, now_s, &error) != 0)
		say_full(agent, error.text);
}

static void commit(mw_agent_t *agent, const mw_collector_t *collector, uint64_t now_ns) {
	mw_error_t error;
	if (mw_spool_commit(&agent->spool, collector->key, collector->is_last, mw_agent_real_ns(),
			    &agent->loss, &error) != 0) {
		mw_metric_add(&agent->metrics->profiles_failed_total, 1);
		say_full(agent, error.text);
		if (collector->is_last)
			mw_schedule_hasten(&agent->schedule, collector->key, LAST_WITHIN_NS,
					   now_ns);
		return;
	}
	agent->has_said_full = false;
	mw_metric_add(&agent->metrics->profiles_total, 1);
	if (collector->is_last)
		note_last(agent, collector->key);
	mw_agent_say_loss(agent, now_ns);
}

/* Returns the last line that the child printed, without "mallow: " and its newline. */
static const char *last_line(mw_child_end_t *end) {
	size_t length = strlen(end->words);
	while (length > 0 && end->words[length - 1] == '\n')
		end->words[--length] = '\0';
	char *line = memrchr(end->words, '\n', length);
	line = line != NULL ? line + 1 : end->words;
	return strncmp(line, "mallow: ", 8) == 0 ? line + 8 : line;
}

static void say_failure(mw_agent_t *agent, mw_agent_process_t *process, mw_child_end_t *end) {
	const char *line = last_line(end);
	char text[MW_CHILD_WORDS_BYTES + 256];
	if (end->is_late)
		snprintf(text, sizeof(text), "%s: reading it took longer than 'limit' allows%s",
			 process->found.place.shown,
			 process->is_without_names || !agent->rules->has_symbols
				 ? ""
				 : "; from now on its functions get no names here");
	else if (end->has_exited && *line != '\0')
		snprintf(text, sizeof(text), "%s", line);
	else
		snprintf(text, sizeof(text), "%s: reading it ended with %s %d",
			 process->found.place.shown, end->has_exited ? "status" : "signal",
			 end->status);
	if (mw_processes_is_news(process, text))
		mw_complain("agent: %s", text);
}

/* A state file of a process that has ended does not get better; one that was read too slowly is
 * read once more, without names. */
static void fail(mw_agent_t *agent, mw_agent_process_t *process, const mw_collector_t *collector,
		 mw_child_end_t *end, uint64_t now_ns) {
	mw_metric_add(end->is_late ? &agent->metrics->profiles_late_total
				   : &agent->metrics->profiles_failed_total,
		      1);
	say_failure(agent, process, end);
	bool may_help = end->is_late && !process->is_without_names && agent->rules->has_symbols;
	process->is_without_names |= end->is_late;
	if (!collector->is_last)
		return;
	process->is_given_up = !may_help;
	if (may_help)
		mw_schedule_hasten(&agent->schedule, collector->key, LAST_WITHIN_NS, now_ns);
	else
		mw_schedule_remove(&agent->schedule, collector->key);
}

static void take_end(mw_agent_t *agent, const mw_collector_t *collector, mw_child_end_t *end,
		     uint64_t now_ns) {
	mw_agent_process_t *process = mw_processes_find(&agent->processes, collector->key);
	int status = end->has_exited && !end->is_late ? end->status : -1;
	if (process == NULL)
		return;
	process->is_busy = false;
	if (status == MW_TAKE_DONE) {
		process->said = 0;
		commit(agent, collector, now_ns);
		return;
	}
	mw_spool_discard(&agent->spool, collector->key);
	if (status == MW_TAKE_IGNORED) {
		process->is_ignored = true;
		mw_schedule_remove(&agent->schedule, collector->key);
	} else if (status == MW_TAKE_NO_ROOM) {
		mw_metric_add(&agent->metrics->profiles_failed_total, 1);
		say_full(agent, last_line(end));
		if (collector->is_last)
			mw_schedule_hasten(&agent->schedule, collector->key, LAST_WITHIN_NS,
					   now_ns);
	} else if (status != MW_TAKE_GONE) {
		fail(agent, process, collector, end, now_ns);
	}
}

void mw_collectors_check(mw_agent_t *agent, uint64_t now_ns) {
	mw_child_end_t end;
	for (unsigned i = 0; i < MW_COLLECTORS_MAX; i++) {
		mw_collector_t *collector = &agent->collectors[i];
		if (!mw_child_has_ended(&collector->child, now_ns, &end))
			continue;
		mw_metric_add(&agent->metrics->cpu_seconds_total, end.cpu_ns);
		take_end(agent, collector, &end, now_ns);
	}
}
