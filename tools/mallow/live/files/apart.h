/* SPDX-License-Identifier: MIT
 * apart.h -- does work that must not stop half-way, and that may never end, apart from this
 * command.
 * Layer: live/files, the door of this folder, which reads files that other processes have chosen:
 * regular_file.h opens them, own_allocator.h and program.h say what they are.  The folder uses the
 * model only.  The kernel may have whoever reads a file, or another process's memory, wait for a
 * file system or a handler of page faults of that process's user. */
#ifndef MW_TOOL_LIVE_FILES_APART_H
#define MW_TOOL_LIVE_FILES_APART_H

#include <stddef.h>

#include "model/error.h"

typedef enum mw_apart_outcome {
	MW_APART_DONE,
	MW_APART_FAILED,  /* `error` says why */
	MW_APART_LATE,    /* has not ended within the limit, and is not waited for any more */
	MW_APART_REFUSED, /* another process may be permitted to do it: this one */
} mw_apart_outcome_t;

typedef mw_apart_outcome_t mw_apart_work_t(const void *context, mw_error_t *error);

/* Does the work in a process of its own, and waits until that has ended, at most for `limit_ms`:
 * then kills it.  That process is in a session of its own and blocks all signals: when this command
 * is killed, it goes on.  MW_APART_REFUSED, too, if there can be no other process; MW_APART_FAILED
 * if somebody has ended it; MW_APART_LATE if the limit ended it, without `error`. */
mw_apart_outcome_t mw_apart_do(mw_apart_work_t *work, const void *context, int limit_ms,
			       mw_error_t *error);

/* Does the work in a thread of this process, with a copy of `context`.  After MW_APART_LATE the
 * thread goes on, and uses what `context` refers to until this process ends. */
mw_apart_outcome_t mw_apart_do_in_thread(mw_apart_work_t *work, const void *context,
					 size_t context_bytes, int limit_ms, mw_error_t *error);

#endif
