/* SPDX-License-Identifier: MIT
 * sender.h -- sends what the spool holds, oldest first, until the receiver does not take it.
 * Layer: agent.  Runs in a child of the agent.  An entry is removed once the receiver has it, or
 * refuses it for good; one that waits stays.  Trouble with the entry of one process, such as a
 * damaged file of what was pushed, does not keep the others. */
#ifndef MW_TOOL_AGENT_SENDER_H
#define MW_TOOL_AGENT_SENDER_H

#include "agent/metrics.h"
#include "agent/spool/spool.h"
#include "model/error.h"
#include "model/profile.h"
#include "store/identity.h"

typedef enum mw_sent {
	MW_SENT_DONE,
	MW_SENT_LATER,   /* the receiver is down or busy: `error` says why */
	MW_SENT_SKIPPED, /* trouble on this host with this entry: it stays, others are sent */
	MW_SENT_REFUSED, /* it will never take this profile */
} mw_sent_t;

/* What takes profiles: push/receiver.h, or a test's function. */
typedef mw_sent_t mw_send_t(void *context, const mw_spool_entry_t *entry,
			    const mw_identity_t *identity, mw_profile_t *profile,
			    mw_error_t *error);

/* Exit statuses of the sender. */
enum { MW_SENDER_EMPTY = 0, MW_SENDER_LATER = 1 };

/* Sends the entries that are there now.  Prints a line for each that was refused or is damaged, and
 * one if the rest has to wait.  Returns the exit status. */
int mw_sender_run(mw_spool_t *spool, mw_send_t *send, void *context, mw_metrics_t *metrics);

#endif
