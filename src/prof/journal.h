/* SPDX-License-Identifier: MIT
 * journal.h -- the log of events and the timeline of the state file.
 * Layer: prof.  Called inside the gate, or by the holder of the control lock; lock-free, errno
 * kept. */
#ifndef MW_PROF_JOURNAL_H
#define MW_PROF_JOURNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "state/layout.h"

/* Appends to the ring of events. */
void mw_journal_event(mw_state_event_kind_t kind, uint64_t a, uint64_t b);
/* Logs MW_EVENT_FULL for each MW_STATE_*_FULL bit that is set and was not logged yet. */
void mw_journal_flags(void);

/* True for one caller when the next tick is due by the monotonic clock, which then calls
 * mw_journal_tick(). */
bool mw_journal_tick_is_due(uint64_t now_ns);
extern _Atomic uint64_t mw_journal_next_tick_ns; /* monotonic */
/* May it be? */
static inline bool mw_journal_tick_is_near(uint64_t now_ns) {
	return now_ns >= atomic_load_explicit(&mw_journal_next_tick_ns, memory_order_relaxed);
}
/* Appends a tick and refreshes the live section.  `stats`: MW_STAT_COUNT values, NULL: leave. */
void mw_journal_tick(const uint64_t *stats);
/* In the child of a fork: the timeline so far is the parent's. */
void mw_journal_forked(void);

#endif
