/* SPDX-License-Identifier: MIT
 * journal.c -- events and ticks. */
#include "prof/journal.h"

#include <stdatomic.h>
#include <stddef.h>

#include "os/clock.h"
#include "os/proc.h"
#include "prof/image.h"

/* Fine enough to see a burst, and cheap: a tick costs three system calls. */
#define TICK_NS ((uint64_t)100000000)

_Atomic uint64_t mw_journal_next_tick_ns;

static struct {
	_Atomic uint64_t interval_ns; /* 0: TICK_NS */
	_Atomic bool ticking;         /* one thread writes ticks */
	_Atomic uint32_t flags_logged;
} journal;

/* Entries behind an event whose blocks are reserved with its own: a report that the file system has
 * no more finds one. */
#define AHEAD 2u

void mw_journal_event(mw_state_event_kind_t kind, uint64_t a, uint64_t b) {
	mw_twin_t live = mw_image_live_twin();
	uint64_t number = atomic_fetch_add_explicit(&mw_image_live()->events_written, 1,
						    memory_order_relaxed);
	uint64_t capacity = mw_image_header()->sections[MW_SECTION_EVENTS].capacity;
	if (!mw_image_reach(MW_SECTION_EVENTS, number % capacity))
		return;
	if (number + AHEAD < capacity)
		mw_image_reach(MW_SECTION_EVENTS, number + AHEAD);
	mw_twin_t entry = mw_image_twin(MW_SECTION_EVENTS, number % capacity);
	mw_twin_set64(entry, offsetof(mw_state_event_t, kind), kind);
	mw_twin_set64(entry, offsetof(mw_state_event_t, a), a);
	mw_twin_set64(entry, offsetof(mw_state_event_t, b), b);
	mw_twin_set64(entry, offsetof(mw_state_event_t, time_ns), mw_os_realtime_ns());
	if (live.mirror)
		atomic_fetch_add_explicit(
			(_Atomic uint64_t *)(void *)(live.mirror + MW_LIVE(events_written)), 1,
			memory_order_release); /* pairs with the readers' load of the count */
}

void mw_journal_flags(void) {
	const uint32_t full = MW_STATE_FILE_FULL | MW_STATE_STACKS_FULL | MW_STATE_FRAMES_FULL |
			      MW_STATE_RECORDS_FULL | MW_STATE_MODULES_FULL;
	uint32_t flags = atomic_load_explicit(&mw_image_live()->flags, memory_order_relaxed) & full;
	uint32_t fresh = flags & ~atomic_load_explicit(&journal.flags_logged, memory_order_relaxed);
	if (!fresh)
		return;
	/* Who sets a bit first logs it. */
	fresh &= ~atomic_fetch_or_explicit(&journal.flags_logged, fresh, memory_order_relaxed);
	for (; fresh; fresh &= fresh - 1)
		mw_journal_event(MW_EVENT_FULL, fresh & -fresh, 0);
}

bool mw_journal_tick_is_due(uint64_t now_ns) {
	uint64_t next = atomic_load_explicit(&mw_journal_next_tick_ns, memory_order_relaxed);
	if (now_ns < next)
		return false;
	uint64_t interval = atomic_load_explicit(&journal.interval_ns, memory_order_relaxed);
	return atomic_compare_exchange_strong_explicit(&mw_journal_next_tick_ns, &next,
						       now_ns + (interval ? interval : TICK_NS),
						       memory_order_relaxed, memory_order_relaxed);
}

/* Drops every second tick, so that the section spans the whole run at twice the interval. */
static uint64_t thin_out(uint64_t count) {
	for (uint64_t i = 1; i < count / 2; i++) {
		mw_state_tick_t tick =
			*(mw_state_tick_t *)mw_image_entry(MW_SECTION_TIMELINE, 2 * i);
		mw_twin_copy(mw_image_twin(MW_SECTION_TIMELINE, i), &tick, sizeof tick);
	}
	uint64_t interval = atomic_load_explicit(&journal.interval_ns, memory_order_relaxed);
	atomic_store_explicit(&journal.interval_ns, 2 * (interval ? interval : TICK_NS),
			      memory_order_relaxed);
	mw_twin_set64(mw_image_live_twin(), MW_LIVE(ticks_written), count / 2);
	return count / 2;
}

void mw_journal_tick(const uint64_t *stats) {
	/* Pairs with the release below; a thread that was slow to write the tick before keeps it.
	 */
	if (atomic_exchange_explicit(&journal.ticking, true, memory_order_acquire))
		return;
	mw_state_live_t *live = mw_image_live();
	mw_state_tick_t tick = {
		.time_ns = mw_os_realtime_ns(),
		.live_bytes = atomic_load_explicit(&live->live_bytes, memory_order_relaxed),
		.resident_bytes = mw_os_resident_bytes(),
		.alloc_bytes = atomic_load_explicit(&live->alloc_bytes, memory_order_relaxed),
	};
	uint64_t count = atomic_load_explicit(&live->ticks_written, memory_order_relaxed);
	if (count == mw_image_header()->sections[MW_SECTION_TIMELINE].capacity)
		count = thin_out(count);
	mw_twin_t twin = mw_image_live_twin();
	if (mw_image_reach(MW_SECTION_TIMELINE, count)) {
		mw_twin_copy(mw_image_twin(MW_SECTION_TIMELINE, count), &tick, sizeof tick);
		/* The entry before the count, for readers of the file. */
		atomic_thread_fence(memory_order_release);
		mw_twin_set64(twin, MW_LIVE(ticks_written), count + 1);
	}
	mw_twin_set64(twin, MW_LIVE(resident_bytes), tick.resident_bytes);
	for (size_t i = 0; stats && i < MW_STAT_COUNT; i++)
		mw_twin_set64(twin, MW_LIVE(stats) + i * sizeof(uint64_t), stats[i]);
	mw_twin_set64(twin, MW_LIVE(updated_realtime_ns), tick.time_ns);
	atomic_store_explicit(&journal.ticking, false, memory_order_release);
}

void mw_journal_forked(void) {
	atomic_store_explicit(&mw_journal_next_tick_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&journal.interval_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&journal.ticking, false, memory_order_relaxed);
	/* The parent's file may have been full; the child's is another. */
	atomic_fetch_and_explicit(&journal.flags_logged, ~MW_STATE_FILE_FULL, memory_order_relaxed);
	/* The events stay: they say when sampling began, which the child goes on with. */
	mw_twin_set64(mw_image_live_twin(), MW_LIVE(ticks_written), 0);
}
