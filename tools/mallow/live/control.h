/* SPDX-License-Identifier: MIT
 * control.h -- gives orders to a live process through its control page.
 * Layer: live.  The tool maps the control and the live page of the state file, fills in what it
 * wants under control.lock, raises control.sequence, and waits for live.sequence_seen: the process
 * reads its control page at its refills only, so that an idle one answers late. */
#ifndef MW_LIVE_CONTROL_H
#define MW_LIVE_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "model/error.h"

typedef enum mw_order_kind {
	MW_ORDER_START,
	MW_ORDER_STOP,
	MW_ORDER_RATE,
	MW_ORDER_RESET,
} mw_order_kind_t;

typedef struct mw_order {
	mw_order_kind_t kind;
	uint64_t mean_bytes; /* MW_ORDER_RATE: the new T */
} mw_order_t;

typedef enum mw_outcome {
	MW_OUTCOME_NOTHING, /* it was so already: nothing was written */
	MW_OUTCOME_DONE,    /* the process has applied it */
	MW_OUTCOME_PENDING, /* written; the process has not looked yet */
} mw_outcome_t;

typedef struct mw_conversation {
	mw_outcome_t outcome;
	bool was_pending; /* an earlier order had not been noticed yet: `was_*` are what it wants */
	bool was_active;
	uint64_t was_mean_bytes;
	uint64_t was_changed_ns; /* CLOCK_REALTIME when was_active began; 0: not yet */
	bool is_active;          /* after the order, as the process says or will */
	uint64_t mean_bytes;
} mw_conversation_t;

/* `path` is what to open, `shown` what to call it.  -1: nothing was ordered, or the process
 * rejected it. */
int mw_control_order(const char *path, const char *shown, const mw_order_t *order,
		     double wait_seconds, mw_conversation_t *out, mw_error_t *error);

#endif
