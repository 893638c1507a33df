/* SPDX-License-Identifier: MIT
 * event_log.c -- writes events and ticks. */
#include "prof/store/event_log.h"

#include <stdatomic.h>
#include <stddef.h>

#include "os/file/proc.h"
#include "os/time/clock.h"
#include "prof/store/store.h"
#include "state/stats.h"

/* Interval between ticks: short enough to show a burst; a tick takes three system calls. */
#define TICK_NS ((uint64_t)100000000)

_Atomic uint64_t mw_event_log_near_ns;

static struct {
	_Atomic uint64_t tick_ns;     /* monotonic time of the next tick */
	_Atomic uint64_t interval_ns; /* 0: TICK_NS */
	_Atomic bool ticking;         /* true: a thread is writing a tick */
	_Atomic uint32_t flags_logged;
} event_log;

/* Blocks of this many later entries are reserved with each event, so that an event about a full
 * file system finds room. */
#define AHEAD 2u

void mw_event_log_add(mw_state_event_kind_t kind, uint64_t a, uint64_t b) {
	mw_both_t live = mw_store_live_both();
	_Atomic uint64_t *written = &mw_store_live()->events_written;
	uint64_t number = atomic_load_explicit(written, memory_order_relaxed);
	uint64_t capacity = mw_store_header()->sections[MW_SECTION_EVENTS].capacity;
	/* Only events with memory are counted: mw_published_attach() copies all that are. */
	do
		if (!mw_store_reach(MW_SECTION_EVENTS, number % capacity))
			return;
	while (!atomic_compare_exchange_weak_explicit(written, &number, number + 1,
						      memory_order_relaxed, memory_order_relaxed));
	if (number + AHEAD < capacity)
		mw_store_reach(MW_SECTION_EVENTS, number + AHEAD);
	mw_both_t entry = mw_store_both(MW_SECTION_EVENTS, number % capacity);
	mw_both_set64(entry, offsetof(mw_state_event_t, kind), kind);
	mw_both_set64(entry, offsetof(mw_state_event_t, a), a);
	mw_both_set64(entry, offsetof(mw_state_event_t, b), b);
	mw_both_set64(entry, offsetof(mw_state_event_t, time_ns), mw_os_realtime_ns());
	if (live.published)
		atomic_fetch_add_explicit(
			(_Atomic uint64_t *)(void *)(live.published + MW_LIVE(events_written)), 1,
			/* Pairs with the readers' load of the count. */
			memory_order_release);
}

void mw_event_log_flags(void) {
	const uint32_t full = MW_STATE_FILE_FULL | MW_STATE_STACKS_FULL | MW_STATE_FRAMES_FULL |
			      MW_STATE_RECORDS_FULL | MW_STATE_MODULES_FULL;
	uint32_t flags = atomic_load_explicit(&mw_store_live()->flags, memory_order_relaxed) & full;
	uint32_t fresh =
		flags & ~atomic_load_explicit(&event_log.flags_logged, memory_order_relaxed);
	if (!fresh)
		return;
	/* The thread that sets a bit first logs it. */
	fresh &= ~atomic_fetch_or_explicit(&event_log.flags_logged, fresh, memory_order_relaxed);
	for (; fresh; fresh &= fresh - 1)
		mw_event_log_add(MW_EVENT_FULL, fresh & -fresh, 0);
}

bool mw_event_log_tick_is_due(uint64_t now_ns) {
	uint64_t next = atomic_load_explicit(&event_log.tick_ns, memory_order_relaxed);
	if (now_ns < next)
		return false;
	uint64_t interval = atomic_load_explicit(&event_log.interval_ns, memory_order_relaxed);
	uint64_t after = now_ns + (interval ? interval : TICK_NS);
	if (!atomic_compare_exchange_strong_explicit(&event_log.tick_ns, &next, after,
						     memory_order_relaxed, memory_order_relaxed))
		return false;
	atomic_store_explicit(&mw_event_log_near_ns, after, memory_order_relaxed);
	return true;
}

void mw_event_log_look_by(uint64_t look_ns) {
	uint64_t tick_ns = atomic_load_explicit(&event_log.tick_ns, memory_order_relaxed);
	atomic_store_explicit(&mw_event_log_near_ns, look_ns < tick_ns ? look_ns : tick_ns,
			      memory_order_relaxed);
}

/* Drops every second tick, so that the section covers the whole run at twice the interval. */
static uint64_t thin_out(uint64_t count) {
	for (uint64_t i = 1; i < count / 2; i++) {
		mw_state_tick_t tick =
			*(mw_state_tick_t *)mw_store_private(MW_SECTION_TIMELINE, 2 * i);
		mw_both_copy(mw_store_both(MW_SECTION_TIMELINE, i), &tick, sizeof tick);
	}
	uint64_t interval = atomic_load_explicit(&event_log.interval_ns, memory_order_relaxed);
	atomic_store_explicit(&event_log.interval_ns, 2 * (interval ? interval : TICK_NS),
			      memory_order_relaxed);
	mw_both_set64(mw_store_live_both(), MW_LIVE(ticks_written), count / 2);
	return count / 2;
}

void mw_event_log_tick(const uint64_t *stats) {
	/* Pairs with the release below. If the thread that wrote the tick before is slow, this one
	 * is skipped. */
	if (atomic_exchange_explicit(&event_log.ticking, true, memory_order_acquire))
		return;
	mw_state_live_t *live = mw_store_live();
	mw_state_tick_t tick = {
		.time_ns = mw_os_realtime_ns(),
		.live_bytes = atomic_load_explicit(&live->live_bytes, memory_order_relaxed),
		.resident_bytes = mw_os_resident_bytes(NULL),
		.alloc_bytes = atomic_load_explicit(&live->alloc_bytes, memory_order_relaxed),
	};
	uint64_t count = atomic_load_explicit(&live->ticks_written, memory_order_relaxed);
	if (count == mw_store_header()->sections[MW_SECTION_TIMELINE].capacity)
		count = thin_out(count);
	mw_both_t both = mw_store_live_both();
	if (mw_store_reach(MW_SECTION_TIMELINE, count)) {
		mw_both_copy(mw_store_both(MW_SECTION_TIMELINE, count), &tick, sizeof tick);
		/* Readers of the file must see the entry before the count. */
		atomic_thread_fence(memory_order_release);
		mw_both_set64(both, MW_LIVE(ticks_written), count + 1);
	}
	mw_both_set64(both, MW_LIVE(resident_bytes), tick.resident_bytes);
	for (size_t i = 0; stats && i < MW_STAT_OF_HEAP; i++)
		mw_both_set64(both, MW_LIVE(stats) + i * sizeof(uint64_t), stats[i]);
	mw_both_set64(both, MW_LIVE(updated_realtime_ns), tick.time_ns);
	atomic_store_explicit(&event_log.ticking, false, memory_order_release);
}

void mw_event_log_forked(void) {
	atomic_store_explicit(&event_log.tick_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&mw_event_log_near_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&event_log.interval_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&event_log.ticking, false, memory_order_relaxed);
	/* The child has a file of its own, even if the parent's was full. */
	atomic_fetch_and_explicit(&event_log.flags_logged, ~MW_STATE_FILE_FULL,
				  memory_order_relaxed);
	/* Events are kept: they tell when sampling began, and the child continues it. */
	mw_both_set64(mw_store_live_both(), MW_LIVE(ticks_written), 0);
}
