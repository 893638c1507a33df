/* SPDX-License-Identifier: MIT
 * folder.h -- the agent's folder on disk, which one agent has at a time.
 * Layer: agent/spool.  The folder's door.  spool.h keeps profiles that are to be sent, ended.h
 * which ended processes were pushed, known_names.h the names of processes; all lie below one
 * folder, which only its user may enter.  The kernel drops the lock when the agent and the
 * processes that it started have ended, in whatever way. */
#ifndef MW_TOOL_AGENT_SPOOL_FOLDER_H
#define MW_TOOL_AGENT_SPOOL_FOLDER_H

#include <stddef.h>

#include "model/error.h"

/* Called before each step that changes the disk, with the step's name.  Returns 0, or the errno
 * with which the step fails.  For tests. */
typedef int mw_folder_step_t(void *context, const char *what);

typedef struct mw_agent_folder {
	char *path;
	int fd;   /* of the folder */
	int lock; /* holds the lock while it is open */
	mw_folder_step_t *step;
	void *step_context;
} mw_agent_folder_t;

/* Makes the folder if it is missing, checks that no other user can change it, and locks it. Returns
 * 0: the caller calls mw_agent_folder_close().  -1: `error` names the agent that has it. */
int mw_agent_folder_open(mw_agent_folder_t *out, const char *path, mw_error_t *error);
void mw_agent_folder_close(mw_agent_folder_t *folder);

/* Makes a folder below it, unless it is there.  Returns its descriptor; -1 with an error. */
int mw_agent_folder_part(const mw_agent_folder_t *folder, const char *name, mw_error_t *error);

/* Writes a file below it that appears, or replaces another one, when it is complete.  -1 with
 * errno: the file is as before. */
int mw_agent_folder_write(const mw_agent_folder_t *folder, const char *name, const char *text,
			  size_t length);

/* Asks the test's function, if there is one.  -1 with errno: the step is to fail. */
int mw_agent_folder_step(const mw_agent_folder_t *folder, const char *what);

#endif
