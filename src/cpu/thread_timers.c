/* SPDX-License-Identifier: MIT
 * thread_timers.c -- a hash table from thread ids to timers, with linear probing. */
#include "cpu/thread_timers.h"

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/rng.h"
#include "os/file/file.h"
#include "os/file/proc.h"
#include "os/file/proc_threads.h"
#include "os/lock/futex.h"
#include "os/lock/lock.h"
#include "os/memory/map.h"
#include "os/platform/kernel_calls.h"
#include "os/time/clock.h"
#include "os/time/cpu_timer.h"

/* A power of two. At most half of the slots are in use, so that searches are short. A process of
 * 16384 threads that use CPU time all together is far away; the kernel's pages are taken as
 * they are touched. */
#define SLOTS 32768u
#define THREADS_MAX (SLOTS / 2)
#define NAMES_BYTES 4096u
/* The time between two scans is at least this many times that of a scan: a process of a thousand
 * threads takes a millisecond. */
#define SCAN_SHARE 200u

typedef struct slot {
	uint32_t thread_id; /* 0: empty */
	uint32_t scan;      /* number of the scan that saw the thread last */
	int32_t timer;
	mw_os_thread_event_t *event; /* instead of a timer */
} slot_t;

static struct {
	mw_lock_t lock;
	slot_t *slots;                    /* SLOTS; NULL: not mapped yet */
	mw_thread_timers_config_t config; /* signal_number 0: off */
	int process_timer;
	uint32_t refused;        /* by the kernel, in the last scan */
	uint32_t count;          /* slots in use */
	_Atomic uint32_t starts; /* how often timers were started */
	uint32_t scan;           /* number of the last scan */
	uint64_t stop_ns; /* CPU time that a stop of all threads takes; 0: none since an answer */
	_Atomic uint64_t
		read_signals;  /* signals that descriptors of signalfd(2) read; bit n - 1: n */
	uint64_t next_scan_ns; /* CLOCK_MONOTONIC before which there is no scan */
	mw_rng_t rng;
	_Alignas(8) char names[NAMES_BYTES]; /* entries of /proc/self/task, during a scan */
} timers MW_SPARSE;

static MW_TLS mw_thread_event_t own;

/* ---- the table; called with the lock ---- */

static uint32_t home_of(uint32_t thread_id) {
	return thread_id * 2654435769u % SLOTS; /* Knuth's multiplier */
}

/* Returns the thread's slot, or the empty one where it would be. */
static slot_t *find(uint32_t thread_id) {
	uint32_t i = home_of(thread_id);
	while (timers.slots[i].thread_id != 0 && timers.slots[i].thread_id != thread_id)
		i = (i + 1) % SLOTS;
	return &timers.slots[i];
}

/* Empties a slot, and moves later entries that a search would not find behind the gap. */
static void empty(slot_t *slot) {
	uint32_t gap = (uint32_t)(slot - timers.slots);
	for (uint32_t i = (gap + 1) % SLOTS; timers.slots[i].thread_id != 0; i = (i + 1) % SLOTS) {
		uint32_t way = (i - home_of(timers.slots[i].thread_id)) % SLOTS;
		if (way < (i - gap) % SLOTS)
			continue;
		timers.slots[gap] = timers.slots[i];
		gap = i;
	}
	timers.slots[gap] = (slot_t){0};
	timers.count--;
}

/* Returns the number of a timer, 0 for an event, or an error. */
static int start_timer(slot_t *slot, uint32_t thread_id, mw_os_timer_from_t from) {
	int error;
	if (timers.config.event) {
		slot->event = mw_os_thread_event_start(thread_id, timers.config.event, &error);
		return error;
	}
	/* The first interval is a random part of a period: a thread that ends within less than a
	 * period is then sampled as often as its CPU time deserves. */
	uint64_t first_ns = 1 + mw_rng_next(&timers.rng) % timers.config.period_ns;
	return mw_os_thread_timer_start(thread_id, timers.config.signal_number, timers.config.clock,
					from, first_ns, timers.config.period_ns);
}

static void stop_timer(const slot_t *slot) {
	if (slot->event)
		mw_os_thread_event_stop(slot->event);
	else
		mw_os_timer_stop(slot->timer);
}

static bool is_read(int signal_number) {
	/* Relaxed: a signal may come before the word is seen. */
	uint64_t read = atomic_load_explicit(&timers.read_signals, memory_order_relaxed);
	return read >> (signal_number - 1) & 1;
}

/* Returns whether a descriptor would read the thread's signals. */
static bool is_left_alone(uint32_t thread_id) {
	int signal_number = timers.config.signal_number;
	return is_read(signal_number) &&
	       (mw_os_blocked_signals(thread_id) >> (signal_number - 1) & 1);
}

/* Returns MW_OK also for a thread that has ended or is left alone, whose slot stays empty; else the
 * kernel refused. */
static int start_in(slot_t *slot, uint32_t thread_id, mw_os_timer_from_t from) {
	if (timers.count >= THREADS_MAX)
		return MW_ERR_NO_MEMORY;
	if (is_left_alone(thread_id))
		return MW_OK;
	/* The thread may have had a timer before. */
	if (is_read(timers.config.signal_number))
		from = MW_OS_FROM_NOW;
	slot_t made = {.thread_id = thread_id, .scan = timers.scan};
	made.timer = start_timer(&made, thread_id, from);
	if (made.timer < 0)
		return made.timer == MW_ERR_NOT_FOUND ? MW_OK : made.timer;
	*slot = made;
	timers.count++;
	return MW_OK;
}

/* No handler may be in the thread's event: the thread has ended, or it is this one. */
static void remove_slot(slot_t *slot) {
	stop_timer(slot);
	empty(slot);
}

/* Deletes the timers of threads that have ended. The last scan did not see them, but it may miss
 * threads that live while others end. */
static void sweep(void) {
	for (uint32_t i = 0; i < SLOTS;)
		/* Another entry may have moved into an emptied slot. */
		if (timers.slots[i].thread_id != 0 && timers.slots[i].scan != timers.scan &&
		    !mw_os_thread_exists(timers.slots[i].thread_id))
			remove_slot(&timers.slots[i]);
		else
			i++;
}

static void show(void) {
	timers.config.changed(timers.count, timers.refused);
}

/* Visits all threads of the process. */
static void scan(mw_os_timer_from_t from) {
	uint32_t seen = 0, refused = 0;
	long bytes = 0;
	int directory = mw_os_open(MW_OS_NO_DIRECTORY, "/proc/self/task", MW_OS_DIRECTORY);
	if (directory < 0)
		return;
	timers.scan++;
	while ((bytes = mw_os_list(directory, timers.names, sizeof timers.names)) > 0) {
		const char *name;
		size_t position = 0;
		while ((name = mw_os_next_name(timers.names, (size_t)bytes, &position)) != NULL) {
			uint32_t thread_id = mw_os_thread_of_name(name);
			slot_t *slot = thread_id ? find(thread_id) : NULL;
			if (!slot)
				continue;
			if (slot->thread_id == 0 && start_in(slot, thread_id, from) != MW_OK)
				refused++;
			seen += slot->thread_id != 0;
			slot->scan = slot->thread_id != 0 ? timers.scan : 0;
		}
	}
	mw_os_close(directory);
	if (bytes == 0 && seen < timers.count)
		sweep();
	timers.refused = refused;
	show();
}

/* ---- interface ---- */

static void lock(void) {
	mw_lock_acquire(&timers.lock, MW_RANK_CPU);
}

static void unlock(void) {
	mw_lock_release(&timers.lock, MW_RANK_CPU);
}

/* How often a handler looks at a lock that is taken. Others hold it for a system call or a few,
 * unless they scan or do not run. */
#define TRIES 1000u

/* Without a rank in a handler: the interrupted code may hold any lock. */
static bool enter(mw_cpu_caller_t caller) {
	if (caller == MW_CPU_IN_CALL) {
		lock();
		return true;
	}
	for (unsigned i = 0; i < TRIES; i++) {
		if (mw_lock_try(&timers.lock))
			return true;
		mw_os_relax();
	}
	return false;
}

static void leave(mw_cpu_caller_t caller) {
	if (caller == MW_CPU_IN_CALL)
		unlock();
	else
		mw_lock_let_go(&timers.lock);
}

/* A program that forbids system calls keeps the timers that it has. */
static bool is_on(void) {
	return timers.config.signal_number != 0 && !mw_os_is_confined();
}

static void stop_all(void) {
	for (uint32_t i = 0; i < SLOTS && timers.count > 0; i++)
		if (timers.slots[i].thread_id != 0) {
			stop_timer(&timers.slots[i]);
			timers.slots[i] = (slot_t){0};
			timers.count--;
		}
	if (timers.process_timer >= 0)
		mw_os_timer_stop(timers.process_timer);
	timers.process_timer = -1;
	timers.config.signal_number = 0;
}

int mw_thread_timers_start(const mw_thread_timers_config_t *config, mw_cpu_caller_t caller) {
	int error = MW_ERR_NO_MEMORY;
	if (!enter(caller))
		return error;
	if (!timers.slots)
		timers.slots = mw_os_map(SLOTS * sizeof(slot_t));
	if (timers.slots) {
		uint64_t seed;
		mw_os_random(&seed, sizeof seed);
		mw_rng_init(&timers.rng, seed);
		timers.config = *config;
		atomic_fetch_add_explicit(&timers.starts, 1, memory_order_relaxed);
		timers.refused = 0;
		bool has_scans = !is_read(config->scan_signal);
		if (has_scans)
			timers.process_timer =
				mw_os_process_timer_start(config->scan_signal, MW_TIMERS_SCAN_NS);
		/* Without /proc only this thread, and those whose heap is made later, have timers.
		 */
		uint32_t self = mw_os_thread_id();
		if (timers.process_timer >= 0 || !has_scans)
			error = start_in(find(self), self, MW_OS_FROM_NOW);
		if (error == MW_OK)
			scan(MW_OS_FROM_NOW);
		else
			stop_all();
	}
	leave(caller);
	return error;
}

bool mw_thread_timers_stop(mw_cpu_caller_t caller) {
	if (!enter(caller))
		return false;
	bool was_on = timers.config.signal_number != 0;
	stop_all();
	timers.refused = 0;
	if (was_on)
		show();
	leave(caller);
	return true;
}

/* Called with the lock. */
static void scan_if_due(void) {
	uint64_t now_ns = mw_os_monotonic_ns();
	if (now_ns < timers.next_scan_ns)
		return;
	scan(MW_OS_FROM_THREAD_START);
	/* Most time that a scan may take: half a percent of one processor. */
	uint64_t pause_ns = (mw_os_monotonic_ns() - now_ns) * SCAN_SHARE;
	timers.next_scan_ns =
		now_ns + (pause_ns > MW_TIMERS_SCAN_NS ? pause_ns : MW_TIMERS_SCAN_NS);
}

void mw_thread_timers_scan(void) {
	/* Without a rank: the interrupted code may hold any lock, and nothing waits here. */
	if (!mw_lock_try(&timers.lock))
		return;
	if (is_on())
		scan_if_due();
	mw_lock_let_go(&timers.lock);
}

/* While threads that have timers use all of the CPU time, one of their samples comes sooner than so
 * many periods. */
#define QUIET_PERIODS 5u

void mw_thread_timers_sampled(void) {
	if (!mw_lock_try(&timers.lock))
		return;
	uint64_t quiet_ns = timers.config.period_ns * QUIET_PERIODS;
	uint64_t least_ns = quiet_ns > MW_TIMERS_SCAN_NS ? quiet_ns : MW_TIMERS_SCAN_NS;
	if (is_on()) {
		if (timers.process_timer >= 0)
			mw_os_timer_put_off(timers.process_timer, least_ns, MW_TIMERS_SCAN_NS);
		scan_if_due();
	}
	mw_lock_let_go(&timers.lock);
}

void mw_thread_timers_note_read(uint64_t signals) {
	atomic_fetch_or_explicit(&timers.read_signals, signals, memory_order_relaxed);
	if (!timers.slots)
		return;
	lock();
	if (timers.config.signal_number != 0 && is_read(timers.config.scan_signal) &&
	    timers.process_timer >= 0) {
		mw_os_timer_stop(timers.process_timer);
		timers.process_timer = -1;
	}
	slot_t *slot = is_on() ? find(mw_os_thread_id()) : NULL;
	if (slot && slot->thread_id != 0 && is_left_alone(slot->thread_id)) {
		own.start = 0;
		remove_slot(slot);
	}
	unlock();
}

/* CPU time of the process until the next scan while a thread answers a tool, which says when it has
 * answered; and while all threads are stopped, besides what they take. */
#define ANSWER_NS UINT64_C(10000000000)
#define STOP_NS UINT64_C(100000000)
/* How often a thread that answers looks at a lock that is taken: for 100 ms, in which a scan of
 * thousands of threads ends, also where its thread waits for a processor. */
#define LOOKS 1000u

static bool enter_for_answer(void) {
	for (unsigned i = 0; i < LOOKS; i++) {
		if (mw_lock_try(&timers.lock))
			return true;
		mw_os_back_off(i);
	}
	return false;
}

static void put_off(const slot_t *slot) {
	if (slot->thread_id != 0)
		mw_os_timer_put_off(slot->timer, MW_TIMERS_PUT_OFF_NS, timers.config.period_ns);
}

/* Replaces the calling thread's event of CPU time by one whose first interval begins now: the
 * kernel takes no other time for an event without a descriptor. What the event counted since its
 * last sample is lost. */
static void renew_event(slot_t *slot) {
	if (slot->thread_id == 0)
		return;
	uint32_t thread_id = slot->thread_id;
	own.start = 0;
	remove_slot(slot);
	/* What the kernel refuses, the next scan tries again. */
	start_in(find(thread_id), thread_id, MW_OS_FROM_NOW);
}

static void put_off_scan(mw_answer_moment_t moment) {
	if (timers.process_timer < 0)
		return;
	if (moment == MW_ANSWER_STOPS)
		timers.stop_ns = STOP_NS + timers.count * MW_TIMERS_PUT_OFF_NS;
	uint64_t after_ns = timers.stop_ns > MW_TIMERS_SCAN_NS ? timers.stop_ns : MW_TIMERS_SCAN_NS;
	if (moment == MW_ANSWER_ENDS) {
		/* The threads that were stopped may still be going on. */
		mw_os_timer_begin(timers.process_timer, after_ns, MW_TIMERS_SCAN_NS);
		timers.stop_ns = 0;
	} else {
		mw_os_timer_put_off(timers.process_timer,
				    moment == MW_ANSWER_STOPS ? after_ns : ANSWER_NS,
				    MW_TIMERS_SCAN_NS);
	}
}

void mw_thread_timers_put_off(mw_answer_moment_t moment) {
	bool all_threads = moment == MW_ANSWER_STOPS;
	if (!enter_for_answer())
		return;
	bool is_cpu_time =
		is_on() && !timers.config.event && timers.config.clock == MW_OS_CLOCK_CPU;
	/* A new event of another kind ends its first interval at once. */
	bool is_event_of_time = is_on() && timers.config.event &&
				timers.config.event->kind == MW_OS_EVENT_CPU_CLOCK;
	if (is_cpu_time && all_threads) {
		uint32_t count = 0;
		for (uint32_t i = 0; count < timers.count; i++) {
			count += timers.slots[i].thread_id != 0;
			put_off(&timers.slots[i]);
		}
	} else if (is_cpu_time) {
		put_off(find(mw_os_thread_id()));
	} else if (is_event_of_time && !all_threads) {
		renew_event(find(mw_os_thread_id()));
	}
	if (is_on())
		put_off_scan(moment);
	leave(MW_CPU_IN_HANDLER);
}

mw_thread_event_t *mw_thread_timers_event(void) {
	uint32_t start = atomic_load_explicit(&timers.starts, memory_order_relaxed);
	if (own.start == start)
		return &own;
	if (!mw_lock_try(&timers.lock))
		return NULL;
	mw_os_thread_event_t *event = NULL;
	if (timers.config.event && timers.config.signal_number != 0)
		event = find(mw_os_thread_id())->event;
	mw_lock_let_go(&timers.lock);
	if (!event)
		return NULL;
	own = (mw_thread_event_t){.event = event, .start = start};
	return &own;
}

void mw_thread_timers_add(uint32_t thread_id) {
	lock();
	if (is_on()) {
		slot_t *slot = find(thread_id);
		/* A scan may have found the thread before. */
		if (slot->thread_id == 0)
			start_in(slot, thread_id, MW_OS_FROM_THREAD_START);
		show();
	}
	unlock();
}

/* The thread's handler may come in between: it finds the lock taken, so it does not look up the
 * event that is about to end. */
void mw_thread_timers_remove(void) {
	lock();
	slot_t *slot = is_on() ? find(mw_os_thread_id()) : NULL;
	own.start = 0;
	atomic_signal_fence(memory_order_seq_cst);
	if (slot && slot->thread_id != 0)
		remove_slot(slot);
	unlock();
}

void mw_thread_timers_forked(void) {
	if (!timers.slots)
		return;
	atomic_store_explicit(&timers.lock.state, 0, memory_order_relaxed);
	mw_os_purge(timers.slots, SLOTS * sizeof(slot_t));
	timers.count = 0;
	timers.process_timer = -1;
	timers.config.signal_number = 0;
}
