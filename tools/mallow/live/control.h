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
#include "state/layout.h"

typedef enum mw_order_kind {
	MW_ORDER_START,
	MW_ORDER_STOP,
	MW_ORDER_RATE,
	MW_ORDER_RESET,
	MW_ORDER_SETTINGS,
	MW_ORDER_DUMP, /* the process writes a dump of its own */
} mw_order_kind_t;

typedef struct mw_order {
	mw_order_kind_t kind;
	uint64_t mean_bytes; /* MW_ORDER_RATE: the new T */
	/* MW_ORDER_SETTINGS: those whose bit is set, and the pattern of names unless it is NULL. */
	uint64_t settings_mask;
	uint64_t settings[MW_SETTING_COUNT];
	const char *dump_name;
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
	uint64_t was_settings[MW_SETTING_COUNT];
	char was_dump_name[MW_STATE_DUMP_NAME_BYTES];
	char last_dump[MW_STATE_DUMP_PATH_BYTES]; /* MW_ORDER_DUMP, done: its path; "": none */
} mw_conversation_t;

/* `path` is what to open, `shown` what to call it.  -1: nothing was ordered, or the process
 * rejected it. */
int mw_control_order(const char *path, const char *shown, const mw_order_t *order,
		     double wait_seconds, mw_conversation_t *out, mw_error_t *error);

typedef struct mw_settling {
	uint32_t threads; /* that have allocated */
	uint32_t behind;  /* of these, have not since the last change */
	bool seen;        /* the figures are fresh; else the whole process was idle */
} mw_settling_t;

/* Waits until every thread of the process has taken over the last change of the rate, by asking it
 * again and again to count. */
int mw_control_settle(const char *path, const char *shown, double wait_seconds, mw_settling_t *out,
		      mw_error_t *error);

#endif
