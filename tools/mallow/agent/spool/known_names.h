/* SPDX-License-Identifier: MIT
 * known_names.h -- remembers the names of processes: of one that was killed, /proc tells nothing
 * more. Layer: agent/spool.  A file known/KEY for each process, until its state file is gone. */
#ifndef MW_TOOL_AGENT_SPOOL_KNOWN_NAMES_H
#define MW_TOOL_AGENT_SPOOL_KNOWN_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/rules/service_name.h"
#include "agent/spool/folder.h"
#include "model/error.h"

typedef struct mw_known {
	mw_service_name_t name;
	char *instance; /* names the process among those of all hosts */
	uint64_t rules; /* hash of the configuration that gave the names */
} mw_known_t;

/* Makes the folder. */
int mw_known_open(const mw_agent_folder_t *folder, mw_error_t *error);
/* Remembers the names of a process, in the place of earlier ones.  -1 with errno. */
int mw_known_save(const mw_agent_folder_t *folder, uint64_t key, const mw_known_t *known);
/* Reads them.  False: there are none, or they are damaged.  The caller calls mw_known_release() if
 * there are. */
bool mw_known_load(const mw_agent_folder_t *folder, uint64_t key, mw_known_t *out);
void mw_known_release(mw_known_t *known);
void mw_known_forget(const mw_agent_folder_t *folder, uint64_t key);
/* Forgets all but those of these keys, which are sorted. */
void mw_known_keep_only(const mw_agent_folder_t *folder, const uint64_t *keys, size_t count);

#endif
