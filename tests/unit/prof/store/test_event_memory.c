/* SPDX-License-Identifier: MIT
 * test_event_memory.c -- events for which the kernel refuses memory: they are left out, and the
 * state file is published all the same. */
#include "os/platform/kernel_calls.h"
#include "prof/control/control.h"
#include "prof/store/event_log.h"
#include "prof_fixture.h"
#include "test.h"

static bool refuse_map(mw_os_call_t call) {
	return call == MW_OS_MAP;
}

static void events_without_memory_are_left_out(void) {
	bool sampled;
	start(1, UINT64_MAX, false);
	CHECK_EQ(fake_small(&thread, 1, (void *)16, 1, 16, &sampled), 1);
	uint64_t capacity = mw_store_header()->sections[MW_SECTION_EVENTS].capacity;
	mw_os_fault_hook = refuse_map;
	for (uint64_t i = 0; i < capacity; i++)
		mw_event_log_add(MW_EVENT_RATE, i, i);
	mw_os_fault_hook = NULL;
	uint64_t written = mw_store_live()->events_written;
	CHECK(written > 0 && written < capacity);
	mw_control_publish();
	mw_state_live_t *live = section_of(map_state_of(getpid()), MW_SECTION_LIVE);
	CHECK(live->events_written >= written);
	mw_event_log_add(MW_EVENT_RATE, 1, 1);
	CHECK_EQ(mw_store_live()->events_written, live->events_written);
}

int main(void) {
	RUN_IN_CHILD(events_without_memory_are_left_out);
	return 0;
}
