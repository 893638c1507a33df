/* SPDX-License-Identifier: MIT
 * process_table.h -- what the agent knows of each process between two searches.
 * Layer: agent/host.  The folder's door.  host_search.h searches for processes, children.h starts
 * those of the agent. */
#ifndef MW_TOOL_AGENT_HOST_PROCESS_TABLE_H
#define MW_TOOL_AGENT_HOST_PROCESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/host/host_search.h"

typedef struct mw_agent_process {
	mw_found_process_t found; /* as the last search found it */
	bool is_busy;             /* a child works at it: it is not removed */
	bool is_named;            /* its names were asked for */
	bool is_ignored;          /* a rule of the configuration says so */
	bool is_given_up;         /* it has ended, and its state file cannot be read */
	bool is_hastened;         /* it has ended, and is planned for the next minute */
	bool is_without_names;    /* looking up its functions' names took too long */
	uint64_t said;            /* hash of the last message about it; 0: none */
} mw_agent_process_t;

typedef struct mw_agent_processes {
	mw_agent_process_t *items; /* sorted by key */
	size_t count;
	uint64_t *gone; /* keys of those that the last merge has removed */
	size_t gone_count;
} mw_agent_processes_t;

/* Takes over what a search has found; the list is empty afterwards.  Processes that are gone are
 * removed, but for busy ones. */
void mw_processes_merge(mw_agent_processes_t *processes, mw_search_list_t *list);
/* NULL: there is none with this key. */
mw_agent_process_t *mw_processes_find(const mw_agent_processes_t *processes, uint64_t key);
void mw_processes_release(mw_agent_processes_t *processes);

/* Returns whether the message about the process is another one than the last. */
bool mw_processes_is_news(mw_agent_process_t *process, const char *message);

#endif
