/* SPDX-License-Identifier: MIT
 * progress.h -- what a receiver has got of a process, kept between pushes.
 * Layer: push.
 * A folder has two files for each receiver, process and kind: NAME.base.pb.gz, the profile that the
 * receiver got last, and NAME.next.pb.gz, the one that is being sent, with its random number.  The
 * second is written before anything is sent, and becomes the first when the receiver has it.  A
 * push that was killed in between is therefore repeated by the next one with the same number and
 * the same values.  A file NAME.lock keeps two pushes of a process apart.  Files that were not
 * changed for two weeks are removed. */
#ifndef MW_TOOL_PUSH_PROGRESS_H
#define MW_TOOL_PUSH_PROGRESS_H

#include <stdint.h>

#include "model/error.h"
#include "model/profile.h"

typedef struct mw_progress mw_progress_t;

/* What is to be sent. */
typedef struct mw_pending {
	mw_profile_t *profile; /* counts since the last push; the caller frees it */
	uint64_t number;       /* random, the same in every attempt */
} mw_pending_t;

/* Returns $XDG_STATE_HOME/mallow/push, or ~/.local/state/mallow/push; NULL: neither is known.  The
 * caller frees it. */
char *mw_progress_folder(void);

/* Locks the progress of a kind of a process with a receiver; waits for another push of it.
 * `folder` is made if it is missing.  `process` names the process
 * and the kind, without a slash. */
int mw_progress_open(const char *folder, const char *receiver, const char *process,
		     mw_progress_t **out, mw_error_t *error);
void mw_progress_close(mw_progress_t *progress); /* NULL is allowed */

/* Returns 1 with a batch that an earlier push has begun, 0: there is none, -1: a file is damaged.
 */
int mw_progress_resume(mw_progress_t *progress, mw_pending_t *out, mw_error_t *error);
/* Begins a batch: `now` is a prepared profile (push/delta.h) without names. */
int mw_progress_begin(mw_progress_t *progress, const mw_profile_t *now, mw_pending_t *out,
		      mw_error_t *error);
/* The receiver has the batch. */
int mw_progress_commit(mw_progress_t *progress, mw_error_t *error);
/* The receiver will never take the batch: the next one holds its counts, too. */
void mw_progress_drop(mw_progress_t *progress);

#endif
