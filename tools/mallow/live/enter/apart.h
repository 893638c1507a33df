/* SPDX-License-Identifier: MIT
 * apart.h -- does work that must not stop half-way in a process of its own.
 * Layer: live/enter.  When this command is killed, that process goes on: it is in a session of its
 * own and blocks all signals. */
#ifndef MW_TOOL_LIVE_ENTER_APART_H
#define MW_TOOL_LIVE_ENTER_APART_H

#include "model/error.h"

typedef enum mw_apart_outcome {
	MW_APART_DONE,
	MW_APART_FAILED,  /* `error` says why */
	MW_APART_REFUSED, /* another process may be permitted to do it: this one */
} mw_apart_outcome_t;

typedef mw_apart_outcome_t mw_apart_work_t(const void *context, mw_error_t *error);

/* Does the work apart, and waits until it has ended.  MW_APART_REFUSED, too, if there can be no
 * other process; MW_APART_FAILED if somebody has ended it. */
mw_apart_outcome_t mw_apart_do(mw_apart_work_t *work, const void *context, mw_error_t *error);

#endif
