/* SPDX-License-Identifier: MIT
 * program_hold.h -- tells whether a live process still runs the program that was looked at first.
 * Layer: live.  For commands that look at one program several times: the process may end, its pid
 * may be given to another one, or it may execute another program, which makes a state file of the
 * same name. */
#ifndef MW_TOOL_LIVE_PROGRAM_HOLD_H
#define MW_TOOL_LIVE_PROGRAM_HOLD_H

#include <stdbool.h>

#include "live/process/reach.h"
#include "live/target.h"
#include "model/error.h"

typedef struct mw_program_hold {
	int fd;       /* the state file, which may have no name any more */
	bool is_seen; /* the process can be seen from here, and `reach` holds it */
	mw_reach_t reach;
} mw_program_hold_t;

/* Takes hold of the program that the process runs at this moment. Returns 0, or -1: it has ended.
 * The caller calls mw_program_hold_release() in both cases. */
int mw_program_hold(const mw_target_t *target, mw_program_hold_t *out, mw_error_t *error);
void mw_program_hold_release(mw_program_hold_t *hold);

/* Returns whether the process still runs the program. */
bool mw_program_goes_on(const mw_program_hold_t *hold);
/* Returns what the process has done that no longer runs it: "ended" or "started another program
 * (exec)", for messages. */
const char *mw_program_end(const mw_program_hold_t *hold);

#endif
