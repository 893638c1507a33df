/* SPDX-License-Identifier: MIT
 * take_profile.h -- names processes, and writes the profile of one into the spool.
 * Layer: cmd/agent.  Runs in children of the agent: state files are chosen by their users.  All
 * that is read is that of the process that the search found: pid and start time, device and inode
 * of the state file are compared when it is opened (live/target.h). */
#ifndef MW_TOOL_CMD_AGENT_TAKE_PROFILE_H
#define MW_TOOL_CMD_AGENT_TAKE_PROFILE_H

#include "agent/agent.h"

/* As mw_agent_calls_t has them. */
void mw_name_processes(const mw_take_t *take, const mw_found_process_t *const *found, size_t count);
int mw_take_profile(const mw_take_t *take);

#endif
