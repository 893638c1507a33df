/* SPDX-License-Identifier: MIT
 * triggers.h -- writes automatic dumps: after a number of bytes allocated or freed, at a limit, on
 * a signal, at intervals, at exit.
 * Layer: prof/control. due_dumps.h keeps and writes the dumps that are due. The signal handler
 * itself writes a dump on a signal: all functions that it calls are async-signal-safe. Other dumps
 * are written by the background thread if there is one. Settings: state/settings.def. */
#ifndef MW_PROF_CONTROL_TRIGGERS_H
#define MW_PROF_CONTROL_TRIGGERS_H

#include <stdbool.h>
#include <stdint.h>

#include "state/layout.h"

/* Sets all settings at start-up. A value out of range is a programming error. Called with the
 * control lock, as mw_triggers_set(). */
void mw_triggers_start(const uint64_t settings[MW_SETTING_COUNT], const char *dump_name);
/* Changes one setting. Returns false if the value is out of range or the program handles the
 * signal; nothing is changed then. Idempotent. */
bool mw_triggers_set(mw_setting_t setting, uint64_t value);
bool mw_triggers_set_name(const char *dump_name);
/* Sets a function that returns the bytes allocated by the calling thread, for prof_interval; NULL:
 * the estimates from samples are used. */
void mw_triggers_count_by(uint64_t (*thread_bytes)(void));
/* Writes the settings into the live section, once it exists. */
void mw_triggers_show(void);
uint64_t mw_triggers_value(mw_setting_t setting);
const char *mw_triggers_name(void);

/* true: each sample, and each free of a sample, calls mw_triggers_check() */
extern _Atomic bool mw_triggers_armed;
/* Compares the counters with the values at which a dump is due. Must not be called between
 * mw_tables_enter() and mw_tables_leave(). */
void mw_triggers_check(void);
static inline bool mw_triggers_are_armed(void) {
	/* Relaxed: a thread that sees the change late checks at its next sample. */
	return __builtin_expect(atomic_load_explicit(&mw_triggers_armed, memory_order_relaxed), 0);
}
static inline void mw_triggers_sampled(void) {
	if (mw_triggers_are_armed())
		mw_triggers_check();
}
/* Called when the heap has grown to `in_use_bytes`. Dumps at a new peak, and reads resident memory
 * when a read is due. */
void mw_triggers_grew(uint64_t in_use_bytes);
/* Called at each tick: checks conditions on time and resident memory. */
void mw_triggers_tick(void);
/* Called by the background thread: writes the dumps that are due. Returns the monotonic time at
 * which it must be called next. */
uint64_t mw_triggers_background(void);
/* Records a request of request_limit bytes or more, made by this stack. */
void mw_triggers_request(uint64_t bytes, uint32_t stack);
/* Called after a dump that the program requested: writes dumps that became due meanwhile. */
void mw_triggers_dumped(void);
void mw_triggers_exit(void);
/* Called when the counters were set to zero. */
void mw_triggers_reset(void);
/* Called in the child of a fork, which has written no dump yet. */
void mw_triggers_forked(void);

#endif
