/* SPDX-License-Identifier: MIT
 * harvest.h -- what `mallow run` does when its program has ended: profiles and a summary.
 * Layer: cmd. */
#ifndef MW_CMD_HARVEST_H
#define MW_CMD_HARVEST_H

#include <stdbool.h>

#include "live/launch.h"

typedef struct mw_harvest {
	const char *session;   /* option prof_session of the run's processes */
	const char *directory; /* for profiles, "." or a path */
	const char *file;      /* the program's own profile; NULL: a name made up */
	bool every_process;    /* the user gave a directory: no cap on the number of profiles */
	const char *program;   /* as the user named it */
	const char *as; /* the library that it was to have ours for; NULL: ours is preloaded */
	const mw_launch_t *launch;
	bool library_seen;   /* in the program's mappings */
	int held_fd;         /* the program's state file, or -1: its name may go with the program */
	uint64_t mean_bytes; /* T as asked for */
} mw_harvest_t;

/* Writes the profiles of the session's processes that have ended, removes their state files, and
 * says on stderr what it did and what the program's profile shows. */
void mw_harvest(const mw_harvest_t *harvest);

/* While the run goes on: looks at the program, and removes the state files of processes that ended
 * without a sample. */
void mw_harvest_tick(mw_harvest_t *harvest, int pid);

#endif
