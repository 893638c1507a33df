/* SPDX-License-Identifier: MIT
 * control.h -- switches sampling on and off, sets its rate, resets counters, and publishes the
 * state file.
 * Layer: prof/control, the door of this folder. One lock, MW_RANK_CONTROL, serialises all
 * changes; the tables are quiesced where a change must not fall into a half-written sample
 * (prof/store/table_lock.h).
 *
 * Reading order: control (state), requests (control words that tools write), triggers (when the
 * process writes dumps by itself), due_dumps (writes them), heap_walk (sums over the heap's pages),
 * prof_log and prof_recent (jemalloc's logs of samples). */
#ifndef MW_PROF_CONTROL_CONTROL_H
#define MW_PROF_CONTROL_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "os/lock/lock.h"
#include "prof/store/event_log.h"
#include "prof/store/published.h"
#include "prof/store/table_lock.h"
#include "state/layout.h"
#include "state/settings.h"

/* Held during each sample and each free of a sampled block. */
extern mw_table_lock_t mw_control_table_lock;

typedef struct mw_control_config {
	bool active;
	bool secure; /* true: never publish */
	uint64_t mean_bytes;
	uint64_t state_min_bytes;
	const char *session;
	const char *unused_options;
	void (*read_stats)(uint64_t *stats);
	const uint64_t *settings; /* values of the settings; NULL: all 0 */
	const char *dump_name;    /* pattern of dump names; NULL: empty */
} mw_control_config_t;

void mw_control_start(const mw_control_config_t *config);
/* Makes the tables if they do not exist. Returns false, then and ever after, if the kernel refused
 * memory. Must not be called between mw_tables_enter() and mw_tables_leave(). */
MW_NOINLINE bool mw_control_make_tables(void);

/* State that every sample reads; only control.c writes it. */
typedef struct mw_control_view {
	_Atomic bool active;
	_Atomic bool tables_ready;
	_Atomic uint64_t publish_after_ns; /* monotonic time before which nothing is published;
					      UINT64_MAX: never publish */
	uint64_t state_min_bytes;          /* allocated or mapped, at which a file is published */
	_Atomic bool is_forking;           /* the tables are quiesced for a fork */
	_Atomic bool has_leak_check;       /* one was ordered; src/leak writes it */
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
/* Returns the sampling rate while sampling is on. */
uint64_t mw_control_mean(void);
mw_result_t mw_control_set(mw_setting_t setting, uint64_t value);
mw_result_t mw_control_set_dump_name(const char *pattern);

/* For requests.c, with the control lock. */
void mw_control_apply_active(bool active);
void mw_control_apply_mean(uint64_t mean_bytes);
/* `resets_done`: number of the reset, which the tool reads. */
void mw_control_apply_reset(uint32_t resets_done);
/* Samples of CPU time (src/cpu, which defines the hooks). Takes `hz` samples per second of each
 * thread's CPU time; 0: none. A standing request of the program. */
MW_COLD void mw_control_set_cpu(uint32_t hz);
/* Changes the rate to mw_requests_cpu_rate(), a word as in state/cpu_source.h, if it is another.
 * Begins again with other signals if the program has taken one over. Writes the outcome to the live
 * section. Called with the control lock, when the tables exist. */
MW_HOOK MW_COLD void mw_control_cpu_follow(void);
/* Sets the counts to zero. Called while the tables are quiesced. */
MW_HOOK MW_COLD void mw_control_cpu_reset(void);
/* When ticks of CPU time are put off. */
typedef enum mw_answer_moment {
	MW_ANSWER_BEGINS, /* the calling thread, which a tool has stopped, answers */
	MW_ANSWER_STOPS,  /* all threads are stopped, perhaps by such an answer */
	MW_ANSWER_ENDS    /* the calling thread goes on */
} mw_answer_moment_t;
/* Called before all threads, or only the calling one, go on with a system call that was stopped: no
 * tick comes of the CPU time that they take for that, which would interrupt the call for good.
 * Called without a lock, also in a handler, which may have interrupted any code. */
MW_HOOK MW_COLD void mw_control_cpu_put_off(mw_answer_moment_t moment);
/* Called in the child of a fork. */
MW_HOOK MW_COLD void mw_control_cpu_forked(void);

/* Leak checks (src/leak, which defines the hooks). Orders a check: `number` as
 * control.want_leak_checks, `options` as control.want_leak_options. Called with the control lock.
 */
MW_HOOK MW_COLD void mw_control_leaks_order(uint32_t number, uint32_t options);
/* Handler of leak_signal (mw_os_handler_t): begins a check, whose end is reported on stderr. */
MW_HOOK MW_COLD void mw_control_leaks_on_signal(int signal_number, bool from_outside);
/* Begins a check that was ordered. Called without a lock, while has_leak_check is set. Returns the
 * monotonic time of the next try, if another check goes on; else UINT64_MAX. */
MW_HOOK MW_COLD uint64_t mw_control_leaks_work(void);
/* Called in the child of a fork, while has_leak_check is set. */
MW_HOOK MW_COLD void mw_control_leaks_forked(void);

/* Code that a tool lets a sleeping thread enter (src/prof/tool_entry.c). Tools find it by a note of
 * the library; MW_CONTROL_LINK_ENTRY() has it linked into programs that use the archive. */
MW_HOOK void mw_control_entry(void);
#define MW_CONTROL_LINK_ENTRY() __asm__ volatile("" : : "r"(mw_control_entry))

/* Removes the state file's name if the process may do more than its user, so that only root can
 * open the file. */
void mw_control_hide(void);
/* Applies the control words that a tool has written. Must not be called between mw_tables_enter()
 * and mw_tables_leave(). */
void mw_control_poll(void);
/* Called after a sample, or when the heap has grown: writes events and a tick, and publishes the
 * state file, each if it is due. Must not be called between mw_tables_enter() and
 * mw_tables_leave(). `in_use_bytes`: bytes in use in the heap; 0: unknown. `now_ns`, here and
 * below: CLOCK_MONOTONIC. */
void mw_control_maintain(uint64_t in_use_bytes, uint64_t now_ns);
/* Returns whether mw_control_maintain() has anything to do after a sample. */
static inline bool mw_control_needs_maintenance(uint64_t now_ns) {
	/* Relaxed: a thread that reads an old value reads the new one at its next sample. */
	return atomic_load_explicit(&mw_control_view.publish_after_ns, memory_order_relaxed) !=
		       UINT64_MAX ||
	       mw_event_log_tick_is_near(now_ns);
}
/* Writes a tick if one is due. */
void mw_control_tick(uint64_t now_ns);
/* Logs an event with the current figures. Must not be called between mw_tables_enter() and
 * mw_tables_leave(). */
void mw_control_event(mw_state_event_kind_t kind, uint64_t a, uint64_t b);
/* Called by the background thread: does ticks, requests and dumps that are due while no thread
 * allocates. Returns the monotonic time of the next; UINT64_MAX: nothing is scheduled. */
uint64_t mw_control_background(void);
/* Publishes the state file now, also if less than state_min_bytes were allocated. */
void mw_control_publish(void);

/* Called at exit(3): writes the last tick and the event. */
void mw_control_end(void);
/* Called at _exit(2): marks the state file. Async-signal-safe. Has no effect in vfork's child. */
void mw_control_leave(void);

/* Take and release the control lock, for the files of this folder. Release looks for requests of
 * tools afterwards. */
void mw_control_acquire(void);
void mw_control_release(void);
/* Returns the lock, for its statistics. */
mw_lock_t *mw_control_lock(void);
void mw_control_fork_prepare(void);
void mw_control_fork_parent(void);
void mw_control_fork_child(void);
/* Does the work of the fork handlers in a child that was forked without them. */
MW_COLD void mw_control_become_child(void);
/* Calls mw_control_become_child() in such a child. Takes a few instructions elsewhere. */
MW_ALWAYS_INLINE void mw_control_check_fork(void) {
	if (MW_UNLIKELY(mw_published_was_wiped()))
		mw_control_become_child();
}

#endif
