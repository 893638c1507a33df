/* SPDX-License-Identifier: MIT
 * test_event_log.c -- ticks under an injected clock: their distance, the thinning, and the ring of
 * events. */
#include "prof/store/event_log.h"

#include "os/time/clock.h"
#include "prof_fixture.h"

static uint64_t now_ns = (uint64_t)1700000000 * 1000000000u;

static uint64_t test_clock(void) {
	return now_ns;
}

static void tick(void) {
	if (mw_event_log_tick_is_due(mw_os_monotonic_coarse_ns()))
		mw_event_log_tick(NULL);
}

static void ticks_keep_their_distance(void) {
	CHECK(mw_store_start());
	mw_os_clock_set_source(test_clock);
	for (int i = 0; i < 1000; i++) {
		tick();
		now_ns += 10000000; /* 10 ms */
	}
	CHECK_EQ(mw_store_live()->ticks_written, 100);
	for (uint64_t i = 1; i < 100; i++)
		CHECK_EQ(tick_entry(store_base(), i)->time_ns -
				 tick_entry(store_base(), i - 1)->time_ns,
			 100000000);
	CHECK(tick_entry(store_base(), 0)->resident_bytes > 100000);
	CHECK(mw_store_live()->resident_bytes > 100000);
}

/* 40 hours: the timeline spans them all, evenly. */
static void a_full_timeline_is_thinned(void) {
	start(1, 0, false);
	char *file = map_state_of(getpid());
	mw_os_clock_set_source(test_clock);
	uint64_t first = now_ns;
	for (int i = 0; i < 40 * 36000; i++) {
		tick();
		now_ns += 100000000;
	}
	char *bases[] = {store_base(), file};
	for (int k = 0; k < 2; k++) {
		mw_state_live_t *live = section_of(bases[k], MW_SECTION_LIVE);
		uint64_t count = live->ticks_written;
		CHECK(count >= 2048 && count <= 4096);
		CHECK(tick_entry(bases[k], 0)->time_ns <= first + 1000000000u);
		CHECK(tick_entry(bases[k], count - 1)->time_ns + (uint64_t)200 * 1000000000u >
		      now_ns);
		uint64_t least = UINT64_MAX, most = 0;
		for (uint64_t i = 1; i < count; i++) {
			uint64_t gap = tick_entry(bases[k], i)->time_ns -
				       tick_entry(bases[k], i - 1)->time_ns;
			least = gap < least ? gap : least;
			most = gap > most ? gap : most;
		}
		CHECK(most <= 2 * least);
	}
}

static void events_are_a_ring(void) {
	start(1, 0, false);
	char *file = map_state_of(getpid());
	for (uint64_t i = 1; i < 1300; i++)
		mw_event_log_add(MW_EVENT_RATE, i, i + 1);
	mw_state_live_t *live = section_of(file, MW_SECTION_LIVE);
	CHECK_EQ(live->events_written, 1300); /* the first one was START */
	for (uint64_t i = 1300 - 512; i < 1300; i++)
		CHECK(event_entry(file, i % 512)->kind == MW_EVENT_RATE &&
		      event_entry(file, i % 512)->a == i);
}

static void full_tables_are_logged_once(void) {
	start(1, 0, false);
	mw_state_live_t *live = mw_store_live();
	mw_store_set_flag(MW_STATE_RECORDS_FULL);
	mw_store_set_flag(MW_STATE_STACKS_FULL);
	mw_event_log_flags();
	mw_event_log_flags();
	mw_store_set_flag(MW_STATE_RECORDS_FULL);
	mw_event_log_flags();
	CHECK_EQ(live->events_written, 3);
	mw_state_event_t *events = mw_store_private(MW_SECTION_EVENTS, 0);
	CHECK(events[1].kind == MW_EVENT_FULL && events[1].a == MW_STATE_STACKS_FULL);
	CHECK(events[2].kind == MW_EVENT_FULL && events[2].a == MW_STATE_RECORDS_FULL);
}

int main(void) {
	RUN_IN_CHILD(ticks_keep_their_distance);
	RUN_IN_CHILD(a_full_timeline_is_thinned);
	RUN_IN_CHILD(events_are_a_ring);
	RUN_IN_CHILD(full_tables_are_logged_once);
	return 0;
}
