/* SPDX-License-Identifier: MIT
 * agent.c -- the loop of the agent: waits, looks after its children, starts others. */
#include "agent/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "agent/collectors.h"
#include "agent/metrics_page.h"
#include "agent/rules/stable_hash.h"
#include "agent/sender.h"
#include "agent/spool/known_names.h"
#include "cli/complain.h"
#include "model/memory.h"
#include "model/monotonic.h"
#include "model/text.h"

#define NS_PER_SECOND 1000000000ull
/* A search takes tenths of a second. */
#define SEARCH_LIMIT_NS (60 * NS_PER_SECOND)
/* Naming new processes, all of them. */
#define NAMING_LIMIT_NS (60 * NS_PER_SECOND)
/* Then a sender that is stuck is started anew; what it has sent is gone from the spool. */
#define SENDER_LIMIT_NS (600 * NS_PER_SECOND)
/* Senders start so often in a period: each costs what loading a library costs. */
#define SENDERS_PER_PERIOD 30u
#define SEND_INTERVAL_MAX_NS (30 * NS_PER_SECOND)
/* While the receiver is down. */
#define SEND_FIRST_NS (NS_PER_SECOND / 2)
#define SEND_MOST_NS (600 * NS_PER_SECOND)
/* A line about losses is printed at most so often. */
#define LOSS_EVERY_NS (900 * NS_PER_SECOND)

uint64_t mw_agent_real_ns(void) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

void mw_agent_repeat(const char *words, unsigned lines) {
	while (*words != '\0' && lines-- > 0) {
		size_t length = strcspn(words, "\n");
		char *line = strndup(words, length);
		if (line != NULL && length > 0)
			fprintf(stderr, "%s\n", mw_text_clean(line, ""));
		free(line);
		words += length + (words[length] == '\n');
	}
}

static void format_time(uint64_t time_ns, char text[32]) {
	time_t seconds = (time_t)(time_ns / NS_PER_SECOND);
	struct tm parts;
	if (localtime_r(&seconds, &parts) == NULL ||
	    strftime(text, 32, "%Y-%m-%d %H:%M:%S", &parts) == 0)
		snprintf(text, 32, "%lld", (long long)seconds);
}

void mw_agent_say_loss(mw_agent_t *agent, uint64_t now_ns) {
	char first[32], last[32];
	mw_spool_loss_t *loss = &agent->loss;
	mw_metric_set(&agent->metrics->spool_bytes, agent->spool.bytes);
	mw_metric_set(&agent->metrics->spool_profiles, agent->spool.count);
	if (loss->count == 0 || (agent->loss_said_ns != 0 &&
				 now_ns - agent->loss_said_ns < LOSS_EVERY_NS && !agent->is_ending))
		return;
	format_time(loss->first_ns, first);
	format_time(loss->last_ns, last);
	mw_complain("agent: the spool is full: lost %zu profiles of %s to %s, the oldest; the next "
		    "ones of live processes have the allocations since",
		    loss->count, first, last);
	agent->loss_said_ns = now_ns;
	*loss = (mw_spool_loss_t){0};
}

/* Moves new losses to the counters; the line about them may come later. */
static void count_loss(mw_agent_t *agent, const mw_spool_loss_t *before) {
	mw_metric_add(&agent->metrics->lost_total, agent->loss.count - before->count);
	mw_metric_add(&agent->metrics->lost_bytes_total, agent->loss.bytes - before->bytes);
}

/* ---- searches ---- */

static int search(void *context) {
	const mw_agent_t *agent = context;
	return mw_host_search(dup(agent->search_file)) == 0 ? 0 : 1;
}

static void start_search(mw_agent_t *agent, uint64_t now_ns) {
	mw_error_t error;
	agent->next_search_ns = now_ns + agent->rules->scan_ns;
	agent->search_file = memfd_create("mallow-agent-list", MFD_CLOEXEC);
	if (agent->search_file < 0)
		mw_error_set(&error, "no file in memory: %s", strerror(errno));
	else if (mw_child_start(&agent->search, search, agent, now_ns + SEARCH_LIMIT_NS,
				&agent->mask, &error) == 0)
		return;
	mw_metric_add(&agent->metrics->scans_failed_total, 1);
	mw_complain("agent: cannot search for processes: %s", error.text);
	if (agent->search_file >= 0)
		close(agent->search_file);
	agent->search_file = -1;
}

/* Says once whose processes are not pushed. */
static void say_closed(mw_agent_t *agent, const mw_search_list_t *list) {
	char users[256] = "";
	if (agent->has_said_closed || list->closed_count == 0)
		return;
	for (size_t i = 0; i < list->closed_count; i++) {
		size_t length = strlen(users);
		snprintf(users + length, sizeof(users) - length, "%s%u", i > 0 ? ", " : "",
			 list->closed[i]);
	}
	mw_complain("agent: note: processes of other users (uid %s) are not pushed: their state "
		    "files are readable to them and to root",
		    users);
	agent->has_said_closed = true;
}

static int name_processes(void *context) {
	const mw_agent_t *agent = context;
	const mw_found_process_t **found = mw_xcalloc(agent->processes.count + 1, sizeof(*found));
	size_t count = 0;
	for (size_t i = 0; i < agent->processes.count; i++)
		if (!agent->processes.items[i].is_named &&
		    agent->processes.items[i].found.place.alive)
			found[count++] = &agent->processes.items[i].found;
	const mw_take_t take = {
		.rules = agent->rules, .folder = &agent->folder, .host = agent->host};
	agent->calls->name(&take, found, count);
	free(found);
	return 0;
}

/* The agent names new processes at once: /proc has nothing about a process that was killed. */
static void start_naming(mw_agent_t *agent, uint64_t now_ns) {
	mw_error_t error;
	bool is_any = false;
	for (size_t i = 0; i < agent->processes.count; i++)
		is_any |= !agent->processes.items[i].is_named;
	if (!is_any || agent->naming.pid != 0 ||
	    mw_child_start(&agent->naming, name_processes, agent, now_ns + NAMING_LIMIT_NS,
			   &agent->mask, &error) != 0)
		return;
	for (size_t i = 0; i < agent->processes.count; i++)
		agent->processes.items[i].is_named = true;
}

/* Forgets names of processes that ended while no agent ran. */
static void sweep(mw_agent_t *agent) {
	uint64_t *keys = mw_xcalloc(agent->processes.count + 1, sizeof(*keys));
	for (size_t i = 0; i < agent->processes.count; i++)
		keys[i] = agent->processes.items[i].found.key;
	mw_known_keep_only(&agent->folder, keys, agent->processes.count);
	agent->is_swept = true;
	free(keys);
}

static void plan(mw_agent_t *agent, uint64_t now_ns) {
	uint64_t live = 0;
	for (size_t i = 0; i < agent->processes.gone_count; i++) {
		mw_schedule_remove(&agent->schedule, agent->processes.gone[i]);
		mw_known_forget(&agent->folder, agent->processes.gone[i]);
	}
	for (size_t i = 0; i < agent->processes.count; i++) {
		mw_agent_process_t *process = &agent->processes.items[i];
		live += process->found.place.alive;
		if (!process->found.place.alive)
			mw_collectors_plan_last(agent, process, now_ns);
		else if (!process->is_ignored)
			mw_schedule_add(&agent->schedule, process->found.key, now_ns);
	}
	mw_metric_set(&agent->metrics->processes, live);
}

static void take_search(mw_agent_t *agent, const mw_child_end_t *end, uint64_t now_ns) {
	mw_search_list_t list;
	mw_error_t error;
	int result = -1;
	if (end->has_exited && end->status == 0 && !end->is_late)
		result = mw_host_search_read(agent->search_file, &list, &error);
	else
		mw_error_set(&error, "the search %s",
			     end->is_late ? "did not end in time" : "has failed");
	close(agent->search_file);
	agent->search_file = -1;
	mw_metric_add(&agent->metrics->scans_total, 1);
	if (result != 0) {
		mw_metric_add(&agent->metrics->scans_failed_total, 1);
		mw_complain("agent: %s; what was known stays", error.text);
		return;
	}
	mw_metric_set(&agent->metrics->unreadable, list.left_out);
	say_closed(agent, &list);
	mw_processes_merge(&agent->processes, &list);
	if (!agent->is_swept)
		sweep(agent);
	plan(agent, now_ns);
	start_naming(agent, now_ns);
}

/* ---- the sender ---- */

static int send_entries(void *context) {
	mw_agent_t *agent = context;
	return agent->calls->send(agent->rules, &agent->spool, agent->metrics);
}

static void start_sender(mw_agent_t *agent, uint64_t now_ns) {
	mw_error_t error;
	if (mw_child_start(&agent->sender, send_entries, agent, now_ns + SENDER_LIMIT_NS,
			   &agent->mask, &error) != 0)
		mw_backoff_fail(&agent->send_backoff, now_ns, now_ns);
}

static void recount(mw_agent_t *agent) {
	size_t count;
	free(mw_spool_list(&agent->spool, &count));
	mw_metric_set(&agent->metrics->spool_bytes, agent->spool.bytes);
	mw_metric_set(&agent->metrics->spool_profiles, agent->spool.count);
}

static void take_sender(mw_agent_t *agent, const mw_child_end_t *end, uint64_t now_ns) {
	uint64_t interval_ns = agent->rules->period_ns / SENDERS_PER_PERIOD;
	size_t before = agent->spool.count;
	recount(agent);
	agent->next_send_ns =
		now_ns + (interval_ns < SEND_INTERVAL_MAX_NS ? interval_ns : SEND_INTERVAL_MAX_NS);
	bool is_empty = end->has_exited && end->status == MW_SENDER_EMPTY && !end->is_late;
	if (is_empty) {
		mw_agent_repeat(end->words, 8);
		if (agent->send_backoff.failures > 0)
			mw_complain("agent: note: the receiver takes profiles again");
		mw_backoff_succeed(&agent->send_backoff);
		return;
	}
	/* One line when it begins. */
	if (agent->send_backoff.failures == 0) {
		mw_agent_repeat(end->words, 8);
		if (!end->has_exited)
			mw_complain("agent: sending %s; it is tried again",
				    end->is_late ? "took too long" : "ended by a fault");
	}
	/* A sender that was stopped by its limit may have a long list. */
	if (end->is_late && agent->spool.count < before)
		return;
	uint64_t seed = mw_stable_hash(agent->schedule.host, &now_ns, sizeof(now_ns));
	mw_backoff_fail(&agent->send_backoff, now_ns, mw_stable_hash_spread(seed));
}

/* Returns the time until a sender may start; UINT64_MAX: there is nothing to send, or one runs. */
static uint64_t send_wait_ns(mw_agent_t *agent, uint64_t now_ns) {
	if (agent->spool.count == 0 || agent->sender.pid != 0)
		return UINT64_MAX;
	uint64_t wait_ns = mw_backoff_wait_ns(&agent->send_backoff, now_ns);
	uint64_t interval_ns = agent->next_send_ns > now_ns ? agent->next_send_ns - now_ns : 0;
	return wait_ns > interval_ns ? wait_ns : interval_ns;
}

/* ---- the page of counters ---- */

static int serve_page(void *context) {
	const mw_agent_t *agent = context;
	return mw_metrics_page_serve(agent->rules->metrics, agent->metrics);
}

static void check_page(mw_agent_t *agent, uint64_t now_ns) {
	mw_child_end_t end;
	mw_error_t error;
	if (mw_child_has_ended(&agent->page, now_ns, &end))
		mw_backoff_fail(&agent->page_backoff, now_ns, now_ns);
	if (agent->rules->metrics != NULL && agent->page.pid == 0 &&
	    mw_backoff_wait_ns(&agent->page_backoff, now_ns) == 0 &&
	    mw_child_start_open(&agent->page, serve_page, agent, &agent->mask, &error) != 0)
		mw_backoff_fail(&agent->page_backoff, now_ns, now_ns);
}

/* ---- the loop ---- */

static void check_children(mw_agent_t *agent, uint64_t now_ns) {
	mw_child_end_t end;
	const mw_spool_loss_t before = agent->loss;
	mw_collectors_check(agent, now_ns);
	if (agent->loss.count >= before.count)
		count_loss(agent, &before);
	if (mw_child_has_ended(&agent->search, now_ns, &end)) {
		mw_metric_add(&agent->metrics->cpu_seconds_total, end.cpu_ns);
		take_search(agent, &end, now_ns);
	}
	if (mw_child_has_ended(&agent->naming, now_ns, &end)) {
		mw_metric_add(&agent->metrics->cpu_seconds_total, end.cpu_ns);
		mw_agent_repeat(end.words, 8);
	}
	if (mw_child_has_ended(&agent->sender, now_ns, &end)) {
		mw_metric_add(&agent->metrics->cpu_seconds_total, end.cpu_ns);
		take_sender(agent, &end, now_ns);
	}
	check_page(agent, now_ns);
}

static void start_due(mw_agent_t *agent, uint64_t now_ns) {
	if (now_ns >= agent->next_search_ns && agent->search.pid == 0)
		start_search(agent, now_ns);
	mw_collectors_start(agent, now_ns);
	if (send_wait_ns(agent, now_ns) == 0)
		start_sender(agent, now_ns);
}

static uint64_t least(uint64_t a, uint64_t b) {
	return a < b ? a : b;
}

static uint64_t time_left(const mw_child_t *child, uint64_t now_ns) {
	if (child->pid == 0 || child->is_late)
		return UINT64_MAX;
	return child->until_ns > now_ns ? child->until_ns - now_ns : 0;
}

/* Returns the time until something is to be done, if no child ends before. */
static uint64_t wait_ns(mw_agent_t *agent, uint64_t now_ns) {
	uint64_t wait = agent->search.pid != 0           ? UINT64_MAX
			: agent->next_search_ns > now_ns ? agent->next_search_ns - now_ns
							 : 0;
	wait = least(wait, mw_collectors_wait_ns(agent, now_ns));
	wait = least(wait, send_wait_ns(agent, now_ns));
	for (unsigned i = 0; i < MW_COLLECTORS_MAX; i++)
		wait = least(wait, time_left(&agent->collectors[i].child, now_ns));
	wait = least(wait, time_left(&agent->search, now_ns));
	wait = least(wait, time_left(&agent->naming, now_ns));
	wait = least(wait, time_left(&agent->sender, now_ns));
	if (agent->rules->metrics != NULL && agent->page.pid == 0)
		wait = least(wait, mw_backoff_wait_ns(&agent->page_backoff, now_ns));
	return wait;
}

/* The agent's own CPU time, beside that of its children. */
static void count_own_cpu(mw_agent_t *agent) {
	struct timespec used;
	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0)
		return;
	uint64_t used_ns = (uint64_t)used.tv_sec * NS_PER_SECOND + (uint64_t)used.tv_nsec;
	mw_metric_add(&agent->metrics->cpu_seconds_total, used_ns - agent->own_cpu_ns);
	agent->own_cpu_ns = used_ns;
}

static bool differs(const char *a, const char *b) {
	return (a == NULL) != (b == NULL) || (a != NULL && strcmp(a, b) != 0);
}

/* Takes a new configuration; the folder, whose lock is held, stays. */
static void take_rules(mw_agent_t *agent, mw_rules_t *rules, uint64_t now_ns) {
	if (differs(rules->folder, agent->rules->folder))
		mw_complain("agent: note: another folder is taken when the agent is started anew");
	if (differs(rules->metrics, agent->rules->metrics)) {
		mw_child_kill(&agent->page);
		mw_backoff_succeed(&agent->page_backoff);
	}
	mw_rules_release(agent->rules);
	*agent->rules = *rules;
	const mw_spool_loss_t before = agent->loss;
	mw_spool_limit(&agent->spool, rules->spool_bytes, &agent->loss);
	count_loss(agent, &before);
	mw_metric_set(&agent->metrics->spool_limit_bytes, rules->spool_bytes);
	mw_schedule_set_period(&agent->schedule, rules->period_ns, now_ns);
	/* Rules for names may be others, and the receiver. */
	for (size_t i = 0; i < agent->processes.count; i++)
		agent->processes.items[i].is_named = agent->processes.items[i].is_ignored = false;
	agent->next_search_ns = agent->next_send_ns = now_ns;
	mw_backoff_succeed(&agent->send_backoff);
	mw_agent_say_loss(agent, now_ns);
}

static void reload(mw_agent_t *agent, uint64_t now_ns) {
	mw_rules_t rules;
	if (agent->calls->read_rules(agent->calls->context, &rules)) {
		take_rules(agent, &rules, now_ns);
		mw_complain("agent: note: the configuration was read anew");
		return;
	}
	mw_metric_add(&agent->metrics->configuration_errors_total, 1);
	mw_complain("agent: the configuration before stays; mend the file and send SIGHUP again");
}

static void await_signal(mw_agent_t *agent, const sigset_t *signals) {
	uint64_t wait = wait_ns(agent, mw_monotonic_ns());
	/* An hour: no time_t overflows. */
	wait = least(wait, 3600 * NS_PER_SECOND);
	const struct timespec most = {.tv_sec = (time_t)(wait / NS_PER_SECOND),
				      .tv_nsec = (long)(wait % NS_PER_SECOND)};
	int number = sigtimedwait(signals, NULL, &most);
	if (number == SIGTERM || number == SIGINT)
		agent->is_ending = true;
	else if (number == SIGHUP)
		reload(agent, mw_monotonic_ns());
}

static void loop(mw_agent_t *agent) {
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGCHLD);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &signals, &agent->mask);
	/* Whoever started the agent may have blocked them. */
	sigdelset(&agent->mask, SIGTERM);
	sigdelset(&agent->mask, SIGCHLD);
	while (!agent->is_ending) {
		uint64_t now_ns = mw_monotonic_ns();
		check_children(agent, now_ns);
		start_due(agent, now_ns);
		count_own_cpu(agent);
		await_signal(agent, &signals);
	}
	/* The signals stay blocked: a second SIGTERM does not end it half-way. */
}

/* ---- begin and end ---- */

static int open_parts(mw_agent_t *agent, mw_error_t *error) {
	const mw_rules_t *rules = agent->rules;
	if (mw_agent_folder_open(&agent->folder, rules->folder, error) != 0)
		return -1;
	if (mw_spool_open(&agent->spool, &agent->folder, rules->spool_bytes, error) != 0 ||
	    mw_known_open(&agent->folder, error) != 0)
		return -1;
	agent->metrics = mw_metrics_map(error);
	if (agent->metrics == NULL)
		return -1;
	mw_ended_open(&agent->ended, &agent->folder, &agent->spool,
		      (int64_t)(mw_agent_real_ns() / NS_PER_SECOND));
	mw_spool_limit(&agent->spool, rules->spool_bytes, &agent->loss);
	count_loss(agent, &(mw_spool_loss_t){0});
	mw_metric_set(&agent->metrics->spool_limit_bytes, rules->spool_bytes);
	mw_schedule_init(&agent->schedule, agent->host, rules->period_ns);
	return 0;
}

static void end_children(mw_agent_t *agent) {
	mw_child_kill(&agent->search);
	mw_child_kill(&agent->naming);
	mw_child_kill(&agent->sender);
	mw_child_kill(&agent->page);
	for (unsigned i = 0; i < MW_COLLECTORS_MAX; i++)
		mw_child_kill(&agent->collectors[i].child);
}

static void close_parts(mw_agent_t *agent) {
	mw_error_t error;
	if (agent->ended.folder != NULL &&
	    mw_ended_save(&agent->ended, (int64_t)(mw_agent_real_ns() / NS_PER_SECOND), &error) !=
		    0)
		mw_complain("agent: %s", error.text);
	mw_ended_close(&agent->ended);
	mw_schedule_release(&agent->schedule);
	mw_processes_release(&agent->processes);
	mw_spool_close(&agent->spool);
	mw_agent_folder_close(&agent->folder);
}

static void take_host(mw_agent_t *agent) {
	if (agent->rules->host != NULL)
		snprintf(agent->host, sizeof(agent->host), "%s", agent->rules->host);
	else if (gethostname(agent->host, sizeof(agent->host)) != 0)
		snprintf(agent->host, sizeof(agent->host), "unknown");
	agent->host[sizeof(agent->host) - 1] = '\0';
}

int mw_agent_run(mw_rules_t *rules, const mw_agent_calls_t *calls) {
	mw_error_t error;
	mw_agent_t *agent = mw_xcalloc(1, sizeof(*agent));
	*agent = (mw_agent_t){
		.rules = rules,
		.calls = calls,
		.folder = {.fd = -1, .lock = -1},
		.spool = {.fresh = -1, .ready = -1},
		.search_file = -1,
		.send_backoff = {.first_ns = SEND_FIRST_NS, .most_ns = SEND_MOST_NS},
		.page_backoff = {.first_ns = NS_PER_SECOND, .most_ns = SEND_MOST_NS},
	};
	take_host(agent);
	bool is_open = open_parts(agent, &error) == 0;
	if (is_open) {
		mw_complain("agent: note: pushes to %s every %llu s; %zu profiles wait in %s",
			    rules->push, (unsigned long long)(rules->period_ns / NS_PER_SECOND),
			    agent->spool.count, agent->folder.path);
		mw_agent_say_loss(agent, mw_monotonic_ns());
		loop(agent);
		end_children(agent);
		recount(agent);
		mw_agent_say_loss(agent, mw_monotonic_ns());
		mw_complain("agent: note: ended; %zu profiles wait in %s", agent->spool.count,
			    agent->folder.path);
	} else {
		mw_complain("agent: %s", error.text);
	}
	close_parts(agent);
	mw_rules_release(rules);
	free(agent);
	return is_open ? MW_EXIT_FINE : MW_EXIT_TROUBLE;
}
