/* SPDX-License-Identifier: MIT
 * event_log.h -- event log and timeline of the state file.
 * Layer: prof/store.  Called between mw_tables_enter() and mw_tables_leave(), or by the holder of
 * the control lock; lock-free, errno kept. */
#ifndef MW_PROF_STORE_EVENT_LOG_H
#define MW_PROF_STORE_EVENT_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "state/layout.h"

/* Appends to the ring of events. */
void mw_event_log_add(mw_state_event_kind_t kind, uint64_t a, uint64_t b);
/* Logs MW_EVENT_FULL for each MW_STATE_*_FULL bit that is set and was not logged yet. */
void mw_event_log_flags(void);

/* Returns true to one caller when a tick is due by the monotonic clock. That caller calls
 * mw_event_log_tick(). */
bool mw_event_log_tick_is_due(uint64_t now_ns);
/* Monotonic time of the next tick, or of a look that comes before it. */
extern _Atomic uint64_t mw_event_log_near_ns;
/* Has mw_event_log_tick_is_near() return true from this time on, too, until the next tick or call.
 * UINT64_MAX: from the next tick on. */
void mw_event_log_look_by(uint64_t look_ns);
/* Returns whether a tick may be due, or a look. */
static inline bool mw_event_log_tick_is_near(uint64_t now_ns) {
	return now_ns >= atomic_load_explicit(&mw_event_log_near_ns, memory_order_relaxed);
}
/* Appends a tick and updates the live section. `stats`: MW_STAT_COUNT values; NULL: unchanged. */
void mw_event_log_tick(const uint64_t *stats);
/* Called in the child of a fork: the timeline so far belongs to the parent. */
void mw_event_log_forked(void);

#endif
