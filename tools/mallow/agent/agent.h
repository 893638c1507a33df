/* SPDX-License-Identifier: MIT
 * agent.h -- pushes the profiles of all processes of this host that run mallow, each in its moment
 * of the period, and of those that have ended.
 * Layer: agent.  The folder's door.  schedule.h says when, host/ finds processes and starts
 * children, sender.h sends what spool/ keeps, rules/ is the configuration, metrics.h counts.
 *
 * The agent waits; all work is done by children, with limits of time and memory, because what they
 * read is chosen by others.  A child writes a profile, which the agent commits to the spool; one
 * sender at a time takes entries from there.  Whatever is killed, the spool is whole. */
#ifndef MW_TOOL_AGENT_AGENT_H
#define MW_TOOL_AGENT_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/host/host_search.h"
#include "agent/metrics.h"
#include "agent/rules/rules.h"
#include "agent/spool/folder.h"
#include "agent/spool/spool.h"

/* Exit statuses of a child that takes a profile; each other one: it failed, and its last line says
 * why. */
enum {
	MW_TAKE_DONE = 0,     /* the entry is written */
	MW_TAKE_IGNORED = 10, /* a rule says so */
	MW_TAKE_GONE = 11,    /* the process has ended and left nothing */
	MW_TAKE_NO_ROOM = 12, /* the entry cannot be written: the line says why */
};

/* A child takes the profile of one process: its task. */
typedef struct mw_take {
	const mw_rules_t *rules;
	const mw_agent_folder_t *folder;
	const mw_found_process_t *found;
	const char *host;
	const char *path;   /* where to write the entry */
	double cpu_seconds; /* how long to sample CPU time first; 0: not */
	bool has_symbols;   /* look names of functions up */
} mw_take_t;

/* Functions of the subcommand that the agent calls in child processes. */
typedef struct mw_agent_calls {
	/* Remembers the names of processes (spool/known_names.h). */
	void (*name)(const mw_take_t *take, const mw_found_process_t *const *found, size_t count);
	/* Writes the entry of a process.  Returns an exit status. */
	int (*take)(const mw_take_t *take);
	/* Sends the spool's entries.  Returns an exit status of sender.h. */
	int (*send)(const mw_rules_t *rules, mw_spool_t *spool, mw_metrics_t *metrics);
	/* Reads the configuration anew, as at the start.  False: it has mistakes, which were
	 * printed. */
	bool (*read_rules)(void *context, mw_rules_t *out);
	void *context; /* of read_rules */
} mw_agent_calls_t;

/* Runs until SIGTERM or SIGINT.  SIGHUP has the configuration read anew; one with mistakes is not
 * taken.  Takes over the rules.  Returns the exit status. */
int mw_agent_run(mw_rules_t *rules, const mw_agent_calls_t *calls);

#endif
