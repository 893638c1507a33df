/* SPDX-License-Identifier: MIT
 * send_profile.h -- sends entries of the spool to the receiver (push/receiver.h).
 * Layer: cmd/agent.  Runs in a child of the agent.  Counts are those since the last push of the
 * process, which the folder "pushed" keeps (push/progress.h): an entry that had to be given up
 * costs values of its moment, and its counts are in the next one. */
#ifndef MW_TOOL_CMD_AGENT_SEND_PROFILE_H
#define MW_TOOL_CMD_AGENT_SEND_PROFILE_H

#include "agent/agent.h"

/* As mw_agent_calls_t has it. */
int mw_send_profiles(const mw_rules_t *rules, mw_spool_t *spool, mw_metrics_t *metrics);

/* Checks that the receiver's URL and the files with secrets can be used; nothing is sent. */
int mw_send_check(const mw_rules_t *rules, mw_error_t *error);

#endif
