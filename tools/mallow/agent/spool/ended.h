/* SPDX-License-Identifier: MIT
 * ended.h -- remembers which processes that have ended were pushed, across restarts of the agent.
 * Layer: agent/spool.  The state file of a killed process stays for a day; its profile is pushed
 * once.  An entry of the spool is committed before its process is noted here: an agent that was
 * killed in between finds the entry when it starts, because senders start later.
 *
 * A key is that of one state file since the start of the kernel; after a restart of the host there
 * are other files and other keys. */
#ifndef MW_TOOL_AGENT_SPOOL_ENDED_H
#define MW_TOOL_AGENT_SPOOL_ENDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/spool/folder.h"
#include "agent/spool/spool.h"
#include "model/error.h"

typedef struct mw_ended_item {
	uint64_t key;
	int64_t seen_s; /* CLOCK_REALTIME at which the file was seen last */
} mw_ended_item_t;

typedef struct mw_ended {
	const mw_agent_folder_t *folder;
	mw_ended_item_t *items; /* sorted by key */
	size_t count, capacity;
	bool is_changed; /* since it was written */
} mw_ended_t;

/* Reads what was noted, and adds what the spool holds.  Lines that are damaged are left out.  The
 * folder outlives the result. */
void mw_ended_open(mw_ended_t *out, const mw_agent_folder_t *folder, mw_spool_t *spool,
		   int64_t now_s);
void mw_ended_close(mw_ended_t *ended);

/* Returns whether the process was pushed, and notes that its file is still there. */
bool mw_ended_has(mw_ended_t *ended, uint64_t key, int64_t now_s);
void mw_ended_add(mw_ended_t *ended, uint64_t key, int64_t now_s);
/* Writes the file if there are changes.  -1 with an error: they are kept in memory, and the next
 * call tries again. */
int mw_ended_save(mw_ended_t *ended, int64_t now_s, mw_error_t *error);

#endif
