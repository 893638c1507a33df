/* SPDX-License-Identifier: MIT
 * collectors.h -- the children that take profiles: which processes are due, how each child ended.
 * Layer: agent.  Private to this folder. */
#ifndef MW_TOOL_AGENT_COLLECTORS_H
#define MW_TOOL_AGENT_COLLECTORS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/agent.h"
#include "agent/host/children.h"
#include "agent/host/process_table.h"
#include "agent/schedule.h"
#include "agent/spool/ended.h"

/* Most children that take profiles at once.  While CPU time is sampled they wait. */
#define MW_COLLECTORS_MAX 32

typedef struct mw_collector {
	mw_child_t child;
	uint64_t key;
	bool is_last; /* the process had ended when the child started */
} mw_collector_t;

/* All that the agent has. */
typedef struct mw_agent {
	mw_rules_t *rules;
	const mw_agent_calls_t *calls;
	char host[256];
	mw_agent_folder_t folder;
	mw_spool_t spool;
	mw_ended_t ended;
	mw_metrics_t *metrics;
	mw_schedule_t schedule;
	mw_agent_processes_t processes;
	sigset_t mask; /* what children block */
	mw_collector_t collectors[MW_COLLECTORS_MAX];
	mw_child_t search, naming, sender, page;
	int search_file; /* -1: no search runs */
	uint64_t next_search_ns, next_send_ns;
	mw_backoff_t send_backoff, page_backoff;
	uint64_t search_started_ns;
	uint64_t own_cpu_ns;   /* of the agent itself, as far as it is counted */
	uint64_t loss_said_ns; /* when losses were said last; 0: never */
	mw_spool_loss_t loss;  /* since then */
	bool has_said_closed, has_said_full, is_swept, is_ending, is_page_known;
} mw_agent_t;

/* Starts children for the processes that are due, as many as may run. */
void mw_collectors_start(mw_agent_t *agent, uint64_t now_ns);
/* Looks after those that run. */
void mw_collectors_check(mw_agent_t *agent, uint64_t now_ns);
/* Returns the time until one may be started; UINT64_MAX: when a child ends, or never. */
uint64_t mw_collectors_wait_ns(const mw_agent_t *agent, uint64_t now_ns);
/* Plans the last profile of a process that has ended, unless it was taken. */
void mw_collectors_plan_last(mw_agent_t *agent, mw_agent_process_t *process, uint64_t now_ns);

/* Says what the spool had to give up, at most once in a while. */
void mw_agent_say_loss(mw_agent_t *agent, uint64_t now_ns);
/* Prints the lines that a child printed, at most so many. */
void mw_agent_repeat(const char *words, unsigned lines);
/* CLOCK_REALTIME. */
uint64_t mw_agent_real_ns(void);

#endif
