/* SPDX-License-Identifier: MIT
 * control.h -- on, off, rate and reset, from inside and from tools; and when to publish.
 * Layer: prof.  One lock, MW_RANK_CONTROL, for all changes; samples are held up at the gate where a
 * change must not fall between their halves. */
#ifndef MW_PROF_CONTROL_H
#define MW_PROF_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "os/lock.h"
#include "prof/gate.h"
#include "prof/image.h"
#include "prof/journal.h"
#include "prof/mirror.h"
#include "state/layout.h"
#include "state/settings.h"

/* Through which every sample and every free of one passes. */
extern mw_gate_t mw_control_gate;

typedef struct mw_control_config {
	bool active;
	bool secure; /* never publish */
	uint64_t mean_bytes;
	uint64_t state_min_bytes;
	const char *session;
	const char *unused_options;
	void (*read_stats)(uint64_t *stats);
	const uint64_t *settings; /* NULL: all 0 */
	const char *dump_name;    /* NULL: empty */
} mw_control_config_t;

void mw_control_start(const mw_control_config_t *config);
/* Makes the tables when they are not there yet; false for good when the kernel refused them.  Not
 * inside the gate. */
MW_NOINLINE bool mw_control_make_tables(void);

/* What every sample looks at; written by control.c alone. */
typedef struct mw_control_view {
	_Atomic bool active;
	_Atomic bool tables_ready;
	_Atomic uint64_t publish_after_ns; /* monotonic: not before; UINT64_MAX: never */
} mw_control_view_t;
extern mw_control_view_t mw_control_view;

MW_ALWAYS_INLINE bool mw_control_has_tables(void) {
	/* Pairs with the release in make_tables(). */
	return atomic_load_explicit(&mw_control_view.tables_ready, memory_order_acquire);
}
MW_ALWAYS_INLINE bool mw_control_need_tables(void) {
	return mw_control_has_tables() || mw_control_make_tables();
}
MW_ALWAYS_INLINE bool mw_control_is_active(void) {
	return atomic_load_explicit(&mw_control_view.active, memory_order_relaxed);
}
void mw_control_set_active(bool active);
mw_result_t mw_control_set_mean(uint64_t mean_bytes);
void mw_control_reset(void);
bool mw_control_is_secure(void);
/* The rate when active. */
uint64_t mw_control_mean(void);
mw_result_t mw_control_set(mw_setting_t setting, uint64_t value);
mw_result_t mw_control_set_dump_name(const char *pattern);

/* Applies what a tool has written into the control words.  Not inside the gate. */
void mw_control_poll(void);
/* After a sample or growth: logs, ticks and publishes, each when it is due.  Not inside the gate.
 * `in_use_bytes` of the heap, 0 when not known here; `now_ns`, here and below: monotonic. */
void mw_control_tend(uint64_t in_use_bytes, uint64_t now_ns);
/* Has mw_control_tend() anything to do after a sample? */
static inline bool mw_control_wants_tending(uint64_t now_ns) {
	/* Relaxed: who sees it late sees it at its next sample. */
	return atomic_load_explicit(&mw_control_view.publish_after_ns, memory_order_relaxed) !=
		       UINT64_MAX ||
	       mw_image_wants_widening() || mw_journal_tick_is_near(now_ns);
}
/* The tick alone, when it is due. */
void mw_control_tick(uint64_t now_ns);
/* Logs an event, with figures of that moment.  Not inside the gate. */
void mw_control_event(mw_state_event_kind_t kind, uint64_t a, uint64_t b);
/* A turn of the background thread: ticks, orders and dumps that are due, while nobody allocates.
 * The monotonic time of the next; UINT64_MAX: nothing waits for the time. */
uint64_t mw_control_background(void);
/* Publishes now, whatever was allocated. */
void mw_control_publish(void);

/* At exit: the last tick, and the event. */
void mw_control_end(void);
/* At _exit(2): leaves a note in the state file.  Async-signal-safe; in vfork's child nothing. */
void mw_control_leave(void);

/* For its statistics. */
mw_lock_t *mw_control_lock(void);
void mw_control_fork_prepare(void);
void mw_control_fork_parent(void);
void mw_control_fork_child(void);
/* A child made without the handlers: catches up on what they do.  Cheap when it is none. */
MW_COLD void mw_control_become_child(void);
MW_ALWAYS_INLINE void mw_control_notice_fork(void) {
	if (MW_UNLIKELY(mw_mirror_was_wiped()))
		mw_control_become_child();
}

#endif
