/* SPDX-License-Identifier: MIT
 * control.c -- changes the profiler's state; no other module does. */
#include "prof/control/control.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/check.h"
#include "heap/sample/hooks.h"
#include "os/file/proc.h"
#include "os/lock/lock.h"
#include "os/time/clock.h"
#include "os/unwind/roomy_stack.h"
#include "prof/control/due_dumps.h"
#include "prof/control/heap_walk.h"
#include "prof/control/prof_log.h"
#include "prof/control/prof_recent.h"
#include "prof/control/requests.h"
#include "prof/control/triggers.h"
#include "prof/mappings/mappings.h"
#include "prof/mappings/resident_pages.h"
#include "prof/modules/modules.h"
#include "prof/sample/sampler.h"
#include "prof/store/event_log.h"
#include "prof/store/published.h"
#include "prof/store/state_file.h"
#include "prof/store/store.h"
#include "prof/table/collect.h"
#include "prof/table/depot.h"
#include "prof/table/records.h"
#include "prof/unwind/unwind.h"
#include "state/stats.h"

/* Delay before the state file is tried again after a refusal; it doubles each time up to
 * RETRY_NS << RETRY_DOUBLINGS. Descriptors, memory or room in the file system may be short only for
 * a time. */
#define RETRY_NS ((uint64_t)1000000000)
#define RETRY_DOUBLINGS 6u
#define LOSSES_MAX 8u /* most state files that are made after the first one was cut */

mw_table_lock_t mw_control_table_lock;
mw_control_view_t mw_control_view;

static struct {
	mw_lock_t lock;
	/* Results of mw_tables_quiesce(), written with the lock held. */
	bool frozen_locked, fork_locked;
	_Atomic bool tables_refused;
	bool secure;
	_Atomic uint64_t mean_bytes; /* sampling rate while sampling is on */
	uint64_t started_ns;         /* CLOCK_REALTIME */
	uint32_t process_id;
	void (*read_stats)(uint64_t *stats);
	_Atomic uint64_t in_use_bytes; /* bytes of the heap in use, as last reported */
	uint64_t in_use_at_fork; /* bytes in use at the fork: they do not count towards the child's
				    file */
	unsigned losses;         /* of state files that were cut */
	unsigned failures;       /* to create a file, one after the other */
	bool forked;             /* true: publish at the first sample */
	_Atomic uint32_t private_word; /* the heap polls this word while there is no file */
} control;

void mw_control_acquire(void) {
	mw_lock_acquire(&control.lock, MW_RANK_CONTROL);
}

static bool try_lock(void) {
	if (!mw_lock_try(&control.lock))
		return false;
	mw_lock_rank_push(MW_RANK_CONTROL);
	mw_lock_count(&control.lock);
	return true;
}

/* A thread that found the lock taken leaves requests of tools to the holder. */
void mw_control_release(void) {
	mw_lock_release(&control.lock, MW_RANK_CONTROL);
	mw_control_poll();
}

static void freeze(void) {
	control.frozen_locked = mw_tables_quiesce(&mw_control_table_lock);
}

static void thaw(void) {
	mw_tables_resume(&mw_control_table_lock, control.frozen_locked);
}

/* ---- state and its copy in the tables; called with the lock ---- */

static void show_rate(void) {
	mw_both_t live = mw_store_live_both();
	mw_both_set32(live, MW_LIVE(active), mw_control_view.active);
	mw_both_set64(live, MW_LIVE(mean_bytes), control.mean_bytes);
	mw_requests_show_leases();
}

static void touch(void) {
	mw_both_set64(mw_store_live_both(), MW_LIVE(updated_realtime_ns), mw_os_realtime_ns());
}

/* Makes the tables at the first need, so that a short-lived process does not pay for them. */
static void make_tables(void) {
	if (mw_control_has_tables() || control.tables_refused)
		return;
	if (!mw_store_start()) {
		atomic_store_explicit(&control.tables_refused, true, memory_order_relaxed);
		mw_control_view.active = false;
		mw_sampler_set_mean(0);
		mw_warn("no memory for the heap profile's tables: profiling is off");
		return;
	}
	mw_depot_start();
	/* Pairs with the acquire in mw_control_has_tables(). */
	atomic_store_explicit(&mw_control_view.tables_ready, true, memory_order_release);
	show_rate();
	mw_triggers_show();
	mw_both_t live = mw_store_live_both();
	mw_both_set64(live, MW_LIVE(changed_realtime_ns), control.started_ns);
	mw_both_set64(live, MW_LIVE(rate_changed_realtime_ns), control.started_ns);
	mw_both_set64(live, MW_LIVE(counted_since_ns), control.started_ns);
	mw_both_set64(live, MW_LIVE(stops), !mw_control_view.active);
	if (mw_control_view.active)
		mw_event_log_add(MW_EVENT_START, control.mean_bytes, 0);
	touch();
}

void mw_control_apply_active(bool active) {
	if (active == mw_control_view.active || control.tables_refused)
		return;
	make_tables();
	if (!mw_control_has_tables())
		return;
	mw_control_view.active = active;
	mw_sampler_set_mean(active ? control.mean_bytes : 0);
	mw_both_t live = mw_store_live_both();
	uint64_t now_ns = mw_os_realtime_ns();
	if (active)
		mw_both_set64(live, MW_LIVE(off_ns), mw_state_off_ns(mw_store_live(), now_ns));
	else
		mw_both_set64(live, MW_LIVE(stops), mw_store_live()->stops + 1);
	show_rate();
	mw_both_set64(live, MW_LIVE(changed_realtime_ns), now_ns);
	mw_event_log_add(active ? MW_EVENT_START : MW_EVENT_STOP, control.mean_bytes, 0);
}

void mw_control_apply_mean(uint64_t mean_bytes) {
	uint64_t old = control.mean_bytes;
	if (mean_bytes == old)
		return;
	control.mean_bytes = mean_bytes;
	if (mw_control_view.active)
		mw_sampler_set_mean(mean_bytes);
	make_tables();
	if (!mw_control_has_tables())
		return;
	show_rate();
	mw_both_set64(mw_store_live_both(), MW_LIVE(rate_changed_realtime_ns), mw_os_realtime_ns());
	mw_event_log_add(MW_EVENT_RATE, old, mean_bytes);
}

void mw_control_apply_reset(uint32_t resets_done) {
	make_tables();
	if (!mw_control_has_tables())
		return;
	freeze();
	mw_records_reset();
	mw_control_cpu_reset();
	thaw();
	mw_triggers_reset();
	mw_both_t live = mw_store_live_both();
	uint64_t now_ns = mw_os_realtime_ns();
	mw_both_set64(live, MW_LIVE(reset_realtime_ns), now_ns);
	mw_both_set64(live, MW_LIVE(counted_since_ns), now_ns);
	mw_both_set64(live, MW_LIVE(off_ns), 0);
	mw_both_set64(live, MW_LIVE(stops), !mw_control_view.active);
	mw_both_set32(live, MW_LIVE(resets_done), resets_done);
	mw_event_log_add(MW_EVENT_RESET, 0, 0);
}

/* ---- calls from the library ---- */

static void start_triggers(const mw_control_config_t *config) {
	static const uint64_t none[MW_SETTING_COUNT];
	/* The user of a set-uid program must not choose where it writes. */
	const uint64_t *settings = config->settings && !config->secure ? config->settings : none;
	mw_triggers_start(settings, config->dump_name ? config->dump_name : "");
}

void mw_control_start(const mw_control_config_t *config) {
	mw_control_view.active = config->active && !config->secure;
	mw_requests_stand_active(mw_control_view.active);
	control.secure = config->secure;
	control.mean_bytes = config->mean_bytes;
	mw_control_view.state_min_bytes = config->state_min_bytes;
	control.read_stats = config->read_stats;
	control.started_ns = mw_os_realtime_at_start_ns();
	control.process_id = mw_os_process_id();
	atomic_store_explicit(&mw_heap_poll_word, &control.private_word, memory_order_release);
	mw_state_file_configure(config->session, config->unused_options);
	start_triggers(config);
	mw_sampler_set_mean(mw_control_view.active ? control.mean_bytes : 0);
}

bool mw_control_make_tables(void) {
	if (atomic_load_explicit(&control.tables_refused, memory_order_relaxed))
		return false;
	mw_control_acquire();
	make_tables();
	mw_control_release();
	return mw_control_has_tables();
}

bool mw_control_is_secure(void) {
	return control.secure;
}

uint64_t mw_control_mean(void) {
	return atomic_load_explicit(&control.mean_bytes, memory_order_relaxed);
}

/* ---- requests of tools ---- */

/* The work itself is in a part of the library that other processes do not touch. */
static uint64_t work_on_leaks(void) {
	return atomic_load_explicit(&mw_control_view.has_leak_check, memory_order_relaxed)
		       ? mw_control_leaks_work()
		       : UINT64_MAX;
}

static void take_tick(bool walk_now) {
	uint64_t stats[MW_STAT_COUNT] = {0};
	if (control.read_stats)
		control.read_stats(stats);
	mw_tables_enter(&mw_control_table_lock);
	mw_event_log_tick(control.read_stats ? stats : NULL);
	mw_heap_walk_take(walk_now);
	mw_heap_walk_count_resident(false);
	mw_event_log_flags();
	mw_tables_leave(&mw_control_table_lock);
}

/* Writes a tick, so that the tool that waits for an answer gets current figures. */
static void tick_now(void) {
	take_tick(true);
	uint32_t threads, behind;
	mw_heap_count_threads(&threads, &behind);
	mw_both_set32(mw_store_live_both(), MW_LIVE(threads), threads);
	mw_both_set32(mw_store_live_both(), MW_LIVE(threads_behind), behind);
}

void mw_control_hide(void) {
	if (!mw_published_exists() || !mw_os_exceeds_user())
		return;
	mw_control_acquire();
	mw_state_file_remove();
	mw_control_release();
}

/* Follows all requests. */
static void follow_requests(void *unused) {
	(void)unused;
	for (;;) {
		mw_state_control_t *words = mw_requests_words();
		if (!words)
			return;
		/* Pairs with the tools' release: they write their values before the sequence. */
		uint32_t sequence = atomic_load_explicit(&words->sequence, memory_order_acquire);
		if (sequence == mw_store_live()->sequence_seen || mw_published_is_lost())
			return;
		/* The holder looks for requests after it unlocks. */
		if (!try_lock())
			return;
		if (sequence != mw_store_live()->sequence_seen) {
			/* The rights may have changed since the file was made. Who could write to
			 * it then may not make requests now, unless that was root alone. */
			bool is_refused = !mw_state_file_is_roots() && mw_os_exceeds_user();
			if (is_refused)
				mw_requests_reject(sequence, MW_REJECT_PRIVILEGES, 0);
			else
				mw_requests_follow(words, sequence);
			mw_requests_plan_check(mw_os_monotonic_coarse_ns());
			if (!is_refused)
				mw_requests_follow_trims(words);
			tick_now();
			if (!is_refused) {
				mw_requests_follow_dumps(words);
				mw_requests_follow_leaks(words, sequence);
			}
			/* Tells tools that the request is done except for the dump, which
			 * live.dumps_done reports, and for the leak check. */
			atomic_thread_fence(memory_order_release);
			mw_both_set32(mw_store_live_both(), MW_LIVE(sequence_seen), sequence);
		}
		mw_lock_release(&control.lock, MW_RANK_CONTROL);
		mw_due_dumps_write_requested();
		if (!mw_heap_wake_background())
			work_on_leaks();
	}
}

void mw_control_poll(void) {
	const mw_state_control_t *words = mw_requests_words();
	/* Relaxed: follow_requests() looks again. */
	if (words && atomic_load_explicit(&words->sequence, memory_order_relaxed) !=
			     mw_store_live()->sequence_seen)
		mw_os_call_with_room(follow_requests, NULL);
}

/* ---- publishing ---- */

/* Called with the lock. */
static void publish(void) {
	/* A tool may have a thread answer before the options are read. */
	if (control.process_id == 0)
		return;
	make_tables();
	if (control.secure || !mw_control_has_tables() || mw_published_exists())
		return;
	mw_requests_offer(control.mean_bytes);
	MW_CONTROL_LINK_ENTRY();
	touch();
	uint64_t after = UINT64_MAX;
	if (mw_state_file_create(freeze, thaw) == MW_OK) {
		/* Pairs with the acquire in the heap's poll. */
		mw_state_control_t *words = mw_requests_words();
		/* Pairs with the acquire of the heap's poll. */
		if (words)
			atomic_store_explicit(&mw_heap_poll_word, &words->sequence,
					      memory_order_release);
		/* The background thread answers requests while the program sleeps. A running one
		 * waits on the old word and is woken. */
		mw_heap_want_background();
		mw_heap_wake_background();
	} else {
		control.failures += control.failures < RETRY_DOUBLINGS;
		after = mw_os_monotonic_ns() + (RETRY_NS << control.failures);
	}
	atomic_store_explicit(&mw_control_view.publish_after_ns, after, memory_order_relaxed);
}

void mw_control_publish(void) {
	mw_control_acquire();
	publish();
	mw_control_release();
}

static bool is_publication_due(uint64_t in_use_bytes) {
	uint64_t after =
		atomic_load_explicit(&mw_control_view.publish_after_ns, memory_order_relaxed);
	if (after == UINT64_MAX || control.secure)
		return false;
	/* The child of a fork publishes at its first sample, or when it grows. */
	bool enough =
		control.forked
			? in_use_bytes == 0 ||
				  in_use_bytes >=
					  control.in_use_at_fork + mw_control_view.state_min_bytes
			: in_use_bytes >= mw_control_view.state_min_bytes ||
				  (mw_control_has_tables() &&
				   mw_records_allocated_bytes() >= mw_control_view.state_min_bytes);
	return enough && (after == 0 || mw_os_monotonic_coarse_ns() >= after);
}

/* Somebody cut the state file to a smaller size. Called without the lock. */
static MW_COLD void replace_file(void) {
	if (!try_lock())
		return;
	if (mw_published_is_lost()) {
		atomic_store_explicit(&mw_heap_poll_word, &control.private_word,
				      memory_order_release);
		mw_published_abandon(freeze, thaw);
		mw_warn("another program cut the state file of this process: %s",
			control.losses < LOSSES_MAX ? "a new one is made" : "it has none now");
		if (control.losses++ < LOSSES_MAX)
			publish();
	}
	mw_control_release();
}

/* The file system was full. */
static MW_COLD void complete_file(void) {
	if (mw_state_file_completion_is_due() && try_lock()) {
		mw_state_file_complete(freeze, thaw);
		mw_control_release();
	}
}

/* Takes stacks out that nothing refers to. The log and the list of recent samples, which jemalloc's
 * interface has, name stacks of samples that were freed long ago: none is taken out meanwhile. */
static MW_COLD void collect_stacks(uint64_t now_ns) {
	if (mw_prof_log_is_on() || mw_prof_recent_is_on() || !try_lock())
		return;
	freeze();
	mw_collect(now_ns);
	thaw();
	mw_control_release();
}

/* What is done once a tick. */
static void work_of_tick(void *argument) {
	uint64_t now_ns = *(const uint64_t *)argument;
	take_tick(false);
	if (MW_UNLIKELY(mw_published_is_lost()))
		replace_file();
	if (MW_UNLIKELY(mw_published_is_full()))
		complete_file();
	mw_tables_enter(&mw_control_table_lock);
	mw_modules_check_if_due(mw_os_monotonic_coarse_ns());
	mw_tables_leave(&mw_control_table_lock);
	mw_triggers_tick();
	work_on_leaks();
	if (MW_UNLIKELY(mw_collect_is_due(now_ns)))
		collect_stacks(now_ns);
}

void mw_control_tick(uint64_t now_ns) {
	if (!mw_control_has_tables() || !mw_event_log_tick_is_near(now_ns))
		return;
	bool is_due = mw_event_log_tick_is_due(now_ns);
	mw_requests_check_leases(now_ns);
	if (is_due)
		mw_os_call_with_room(work_of_tick, &now_ns);
}

/* The next functions run where there is room: the program may allocate on a small stack. */

static void publish_due(void *unused) {
	(void)unused;
	if (try_lock()) {
		publish();
		mw_control_release();
	}
}

/* Includes the heap's figures: a program may grow within a tick's interval and then sleep. */
static void walk_due(void *unused) {
	(void)unused;
	take_tick(true);
}

void mw_control_maintain(uint64_t in_use_bytes, uint64_t now_ns) {
	if (in_use_bytes)
		atomic_store_explicit(&control.in_use_bytes, in_use_bytes, memory_order_relaxed);
	if (MW_UNLIKELY(is_publication_due(in_use_bytes)))
		mw_os_call_with_room(publish_due, NULL);
	if (!mw_control_has_tables())
		return;
	if (MW_UNLIKELY(mw_heap_walk_is_due(in_use_bytes)))
		mw_os_call_with_room(walk_due, NULL);
	mw_control_tick(now_ns);
}

void mw_control_event(mw_state_event_kind_t kind, uint64_t a, uint64_t b) {
	if (!mw_control_need_tables())
		return;
	tick_now();
	mw_tables_enter(&mw_control_table_lock);
	mw_event_log_add(kind, a, b);
	mw_tables_leave(&mw_control_table_lock);
}

uint64_t mw_control_background(void) {
	if (!mw_control_has_tables())
		return UINT64_MAX;
	mw_control_poll();
	uint64_t now_ns = mw_os_monotonic_coarse_ns();
	mw_control_maintain(0, now_ns);
	uint64_t next_ns = mw_requests_check_leases(now_ns);
	uint64_t leaks_ns = work_on_leaks(), triggers_ns = mw_triggers_background();
	next_ns = leaks_ns < next_ns ? leaks_ns : next_ns;
	return triggers_ns < next_ns ? triggers_ns : next_ns;
}

void mw_control_end(void) {
	if (!mw_control_has_tables())
		return;
	mw_control_acquire();
	tick_now();
	mw_tables_enter(&mw_control_table_lock);
	mw_heap_walk_count_resident(true);
	mw_tables_leave(&mw_control_table_lock);
	mw_event_log_add(MW_EVENT_EXIT, 0, 0);
	mw_store_set_flag(MW_STATE_ENDED);
	mw_control_release();
}

void mw_control_leave(void) {
	/* The child of vfork(2) runs in its parent's memory. The child of fork(2) has no published
	 * copy. */
	if (mw_published_base() && mw_os_process_id() == control.process_id)
		mw_store_set_flag(MW_STATE_QUIT);
}

/* ---- fork ---- */

mw_lock_t *mw_control_lock(void) {
	return &control.lock;
}

void mw_control_fork_prepare(void) {
	mw_lock_fork_acquire(&control.lock);
	/* Stored before the tables are closed. */
	atomic_store_explicit(&mw_control_view.is_forking, true, memory_order_seq_cst);
	/* Not by freeze(), because fork handlers that run in between may call it. */
	control.fork_locked = mw_tables_quiesce(&mw_control_table_lock);
	mw_modules_fork_prepare();
}

void mw_control_fork_parent(void) {
	mw_tables_resume(&mw_control_table_lock, control.fork_locked);
	atomic_store_explicit(&mw_control_view.is_forking, false, memory_order_relaxed);
	mw_lock_fork_release(&control.lock, false);
	mw_control_poll();
}

static void become_child(void) {
	mw_tables_reset_lock(&mw_control_table_lock);
	atomic_store_explicit(&mw_control_view.is_forking, false, memory_order_relaxed);
	mw_modules_forked();
	mw_sampler_forked();
	mw_heap_walk_forked();
	mw_triggers_forked();
	mw_prof_log_forked();
	mw_prof_recent_forked();
	mw_mappings_forked();
	mw_unwind_forked();
	/* Changed first: the page that the word points into is about to be unmapped. */
	atomic_store_explicit(&mw_heap_poll_word, &control.private_word, memory_order_release);
	uint32_t parent = control.process_id;
	control.process_id = mw_os_process_id();
	mw_state_file_forked(parent);
	mw_published_drop();
	mw_requests_forked();
	mw_control_cpu_forked();
	if (atomic_load_explicit(&mw_control_view.has_leak_check, memory_order_relaxed))
		mw_control_leaks_forked();
	control.forked = true;
	control.in_use_at_fork = control.in_use_bytes;
	control.failures = 0;
	atomic_store_explicit(&mw_control_view.publish_after_ns, 0, memory_order_relaxed);
	if (mw_control_has_tables()) {
		mw_resident_pages_forked();
		mw_event_log_forked();
		mw_event_log_add(MW_EVENT_FORK, parent, 0);
		/* The heap was sampled by a lease of the parent's perhaps. */
		mw_control_apply_active(mw_requests_is_active());
		mw_requests_show_leases();
	}
}

void mw_control_fork_child(void) {
	become_child();
	mw_lock_fork_release(&control.lock, true);
}

void mw_control_become_child(void) {
	/* Asked again: another thread may have lost the copy between the two loads before. */
	if (!mw_published_was_wiped())
		return;
	/* The child has one thread, and it holds no lock of the library: else it would be in a
	 * signal handler. */
	become_child();
	atomic_store_explicit(&control.lock.state, 0, memory_order_relaxed);
}
