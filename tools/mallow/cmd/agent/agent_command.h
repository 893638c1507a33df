/* SPDX-License-Identifier: MIT
 * agent_command.h -- `mallow agent`: pushes the profiles of all processes of this host.
 * Layer: cmd/agent.  The folder's door.  agent_command.c reads options and the configuration,
 * take_profile.h is what children do for one process, send_profile.h what the sender does for one
 * entry of the spool; the rest is in agent/. */
#ifndef MW_TOOL_CMD_AGENT_AGENT_COMMAND_H
#define MW_TOOL_CMD_AGENT_AGENT_COMMAND_H

#include "cli/options.h"

/* Where the configuration is unless --config names another file. */
#define MW_AGENT_CONFIG "/etc/mallow/agent.conf"

int mw_cmd_agent(const mw_arguments_t *arguments);

#endif
