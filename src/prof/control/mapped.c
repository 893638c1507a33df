/* SPDX-License-Identifier: MIT
 * mapped.c -- publication, heap walks and ranges for programs that map memory past malloc. */
#include "prof/control/mapped.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "prof/control/control.h"
#include "prof/control/heap_walk.h"
#include "prof/mappings/mappings.h"
#include "prof/store/published.h"
#include "prof/store/store.h"

/* A walk is due when the bytes mapped since the start have grown by this part, and by this much: as
 * for the heap's own growth (heap_walk.c). */
#define GROWTH_STEP 32u
#define GROWTH_MIN_BYTES (UINT64_C(1) << 20)

static bool is_publication_due(uint64_t mapped_bytes, uint64_t now_ns) {
	uint64_t after_ns =
		atomic_load_explicit(&mw_control_view.publish_after_ns, memory_order_relaxed);
	return after_ns != UINT64_MAX && now_ns >= after_ns && !mw_control_is_secure() &&
	       mapped_bytes >= mw_control_view.state_min_bytes;
}

static bool is_walk_due(uint64_t mapped_bytes) {
	static _Atomic uint64_t next_bytes;
	uint64_t next = atomic_load_explicit(&next_bytes, memory_order_relaxed);
	/* The thread that raises next_bytes walks the heap. */
	return mapped_bytes > next &&
	       atomic_compare_exchange_strong_explicit(&next_bytes, &next,
						       mapped_bytes + mapped_bytes / GROWTH_STEP +
							       GROWTH_MIN_BYTES,
						       memory_order_relaxed, memory_order_relaxed);
}

void mw_mapped_maintain(uint64_t now_ns) {
	uint64_t mapped_bytes = mw_mappings_bytes();
	if (is_publication_due(mapped_bytes, now_ns))
		mw_control_publish();
	if (is_walk_due(mapped_bytes)) {
		mw_tables_enter(&mw_control_table_lock);
		mw_heap_walk_take(true);
		mw_tables_leave(&mw_control_table_lock);
	}
	mw_control_tick(now_ns);
	mw_control_poll();
}

static void write_mapping(uintptr_t start, uintptr_t limit, uint32_t stack) {
	mw_heap_walk_write(&(mw_state_range_t){
		.start = start, .limit = limit, .kind = MW_RANGE_MAPPING, .stack = stack});
}

static void write_memory(uintptr_t start, uintptr_t limit) {
	mw_heap_walk_write(
		&(mw_state_range_t){.start = start, .limit = limit, .kind = MW_RANGE_PROFILER});
}

void mw_mapped_write(uint64_t ranges) {
	uint64_t capacity = mw_store_header()->sections[MW_SECTION_RANGES].capacity;
	mw_mappings_visit_memory(write_memory);
	if (ranges + 1 < capacity)
		mw_mappings_visit(write_mapping, (unsigned)(capacity - ranges - 1));
}
