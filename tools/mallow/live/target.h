/* SPDX-License-Identifier: MIT
 * target.h -- what a user means by TARGET: a pid, a state file, a profile file, or a URL.
 * Layer: live.  A plain number is a pid: of a live process, or of one that was killed and whose
 * state file is still there.  Anything else is a path; what the file is, its content says. */
#ifndef MW_LIVE_TARGET_H
#define MW_LIVE_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "live/places.h"
#include "model/error.h"
#include "read/state_file.h"

typedef enum mw_fate {
	MW_FATE_RUNNING, /* the process is there and samples */
	MW_FATE_STOPPED, /* it is there, sampling is off */
	MW_FATE_PAUSED,  /* it is there, but a signal or a debugger holds it */
	MW_FATE_ENDED,   /* it ended by itself and kept its file */
	MW_FATE_LEFT,    /* it called _exit(2), as forked children do */
	MW_FATE_KILLED,  /* it is gone without a word */
} mw_fate_t;

/* "running", "stopped", "paused", "ended", "_exit", "killed". */
const char *mw_fate_name(mw_fate_t fate);
/* `live_pid` 0: it is gone. */
mw_fate_t mw_fate_of(const mw_snapshot_t *snapshot, int live_pid);

typedef struct mw_target {
	char *path;    /* what to open */
	char *shown;   /* what to call it */
	bool is_state; /* a state file; else a profile of some format */
	bool alive;    /* the process of the state file exists */
	bool is_pid;   /* the user gave a pid */
	bool is_url;   /* it was fetched into the file `fd`, and `path` is the URL */
	int fd;
	int pid;        /* of a state file's process, as seen from here */
	char note[256]; /* what else the user should know, or "" */
} mw_target_t;

/* 0: the caller calls mw_target_release().  -1: `error` says what to do instead. */
int mw_target_resolve(const char *text, mw_target_t *out, mw_error_t *error);
void mw_target_release(mw_target_t *target);

#endif
