/* SPDX-License-Identifier: MIT
 * triggers.h -- writes dumps by itself: when so much was allocated, when a limit is passed, on a
 * signal, at intervals, at exit.
 * Layer: prof.  What is due is kept in a word of bits, so that a reason that cannot be served at
 * once (its interval has not passed, another thread is dumping) is served at the next occasion: a
 * sample, a tick, the end of that dump.  A dump on a signal is written by the handler itself:
 * everything on its way is async-signal-safe.  Others are left to the background thread, where
 * there is one.  Settings: state/settings.def. */
#ifndef MW_PROF_TRIGGERS_H
#define MW_PROF_TRIGGERS_H

#include <stdbool.h>
#include <stdint.h>

#include "state/layout.h"

/* Values out of their range are an error of the caller's.  Under the control lock, as the next. */
void mw_triggers_start(const uint64_t settings[MW_SETTING_COUNT], const char *dump_name);
/* Arms, changes or disarms; false when the value is out of range, or the signal is not to be had:
 * then all is as before.  Idempotent. */
bool mw_triggers_set(mw_setting_t setting, uint64_t value);
bool mw_triggers_set_name(const char *dump_name);
/* Bytes that the calling thread has allocated, for prof_interval; NULL: the estimates count. */
void mw_triggers_count_by(uint64_t (*thread_bytes)(void));
/* Shows the settings in the live section, once it exists. */
void mw_triggers_show(void);
uint64_t mw_triggers_value(mw_setting_t setting);
const char *mw_triggers_name(void);

/* Is there anything to look at after a sample, or its free? */
extern _Atomic bool mw_triggers_armed;
/* Compares the counters with what is waited for; not inside the gate. */
void mw_triggers_check(void);
static inline bool mw_triggers_are_armed(void) {
	/* Relaxed: a thread that sees it late looks at its next sample. */
	return __builtin_expect(atomic_load_explicit(&mw_triggers_armed, memory_order_relaxed), 0);
}
static inline void mw_triggers_sampled(void) {
	if (mw_triggers_are_armed())
		mw_triggers_check();
}
/* The heap has so many bytes in use: is that more than ever, and is a look at resident memory due?
 */
void mw_triggers_grew(uint64_t in_use_bytes);
/* At each tick: what depends on time and resident memory. */
void mw_triggers_tick(void);
/* A turn of the background thread: serves what is due; when it wants the next (monotonic). */
uint64_t mw_triggers_background(void);
/* A request of request_limit bytes or more was made by this stack. */
void mw_triggers_request(uint64_t bytes, uint32_t stack);
/* Makes a dump due now. */
void mw_triggers_fire(mw_dump_reason_t reason);
void mw_triggers_exit(void);
/* The counters were set to zero. */
void mw_triggers_reset(void);
/* In the child of a fork: it has made no dump yet. */
void mw_triggers_forked(void);

#endif
