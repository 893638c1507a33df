/* SPDX-License-Identifier: MIT
 * heap_walk.c -- walks the heap at intervals and publishes the sums. Walks take at most 1/200 of
 * the time. A walk is also due when the heap has grown by 1/32, and by 1 MiB for each thread, so
 * that the published sums are nearly right for a program that grows and then idles. */
#include "prof/control/heap_walk.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "heap/sample/hooks.h"
#include "heap/stats/heap_walk.h"
#include "os/time/clock.h"
#include "prof/mappings/mappings.h"
#include "prof/mappings/resident_pages.h"
#include "prof/script/script.h"
#include "prof/store/published.h"
#include "prof/store/store.h"
#include "prof/table/collect.h"
#include "prof/table/depot.h"
#include "state/stats.h"

/* A heap of 100 GiB takes 13 ms to walk and is walked every 2.6 s. */
#define REST_FACTOR 200u
/* A walk takes 0.5 us for 4 MiB, its map included; writing 4 MiB for the first time takes 1 ms. */
#define GROWTH_STEP 32u
/* For each thread: a walk takes the cache lines of a thread's pages away from it, so that n threads
 * that each begin by growing would lose those of all n after each MiB of theirs. */
#define GROWTH_MIN_BYTES ((size_t)1 << 20)

static struct {
	void (*walk)(const mw_heap_walk_sink_t *sink);
	_Atomic bool busy;
	_Atomic uint64_t next_ns;         /* monotonic time of the next walk */
	_Atomic size_t next_bytes;        /* size of the heap in bytes at which a walk is due */
	uint64_t ranges, classes, chunks; /* entries that the current walk has written */
} heap_walk;

void mw_heap_walk_start(void (*walk)(const mw_heap_walk_sink_t *sink)) {
	heap_walk.walk = walk;
}

void mw_heap_walk_forked(void) {
	atomic_store_explicit(&heap_walk.busy, false, memory_order_relaxed);
	atomic_store_explicit(&heap_walk.next_ns, 0, memory_order_relaxed);
}

static void write_any(const mw_state_range_t *range) {
	uint64_t index = heap_walk.ranges++;
	if (index < mw_store_header()->sections[MW_SECTION_RANGES].capacity &&
	    mw_store_reach(MW_SECTION_RANGES, index))
		mw_both_copy(mw_store_both(MW_SECTION_RANGES, index), range, sizeof *range);
}

static void write_range(uintptr_t start, uintptr_t limit, unsigned kind) {
	write_any(&(mw_state_range_t){.start = start, .limit = limit, .kind = kind});
}

static void write_class(const mw_heap_walk_class_t *from) {
	/* A small process has few of the classes. */
	if (from->memory_bytes == 0)
		return;
	uint64_t index = heap_walk.classes;
	mw_state_class_t class = {.block_bytes = from->block_bytes,
				  .memory_bytes = from->memory_bytes,
				  .touched_bytes = from->touched_bytes,
				  .used_bytes = from->used_bytes};
	if (index >= mw_store_header()->sections[MW_SECTION_CLASSES].capacity ||
	    !mw_store_reach(MW_SECTION_CLASSES, index))
		return;
	mw_both_copy(mw_store_both(MW_SECTION_CLASSES, index), &class, sizeof class);
	heap_walk.classes++;
}

/* Into the file alone: the process itself has no use for it. */
static void write_chunk(const mw_state_chunk_t *map) {
	uint64_t index = heap_walk.chunks++, start = index * sizeof *map;
	if (!mw_store_has_room(MW_SECTION_CHUNKS, index))
		return;
	mw_published_reach(MW_SECTION_CHUNKS, start + sizeof *map);
	char *place = mw_published_range(MW_SECTION_CHUNKS, start, sizeof *map);
	if (place)
		memcpy(place, map, sizeof *map);
	else
		heap_walk.chunks--;
}

static void write_profiler_range(uintptr_t start, uintptr_t limit) {
	write_range(start, limit, MW_RANGE_PROFILER);
}

static void write_own_ranges(void) {
	mw_store_visit(write_profiler_range);
	mw_depot_visit(write_profiler_range);
	mw_script_visit(write_profiler_range);
	mw_collect_visit(write_profiler_range);
	mw_mappings_visit_memory(write_profiler_range);
}

static void write_mapping(uintptr_t start, uintptr_t limit, uint32_t stack) {
	write_any(&(mw_state_range_t){
		.start = start, .limit = limit, .kind = MW_RANGE_MAPPING, .stack = stack});
}

/* Mappings of the program, as far as there is room: written last. */
static void write_mappings(void) {
	uint64_t capacity = mw_store_header()->sections[MW_SECTION_RANGES].capacity;
	if (heap_walk.ranges + 1 < capacity)
		mw_mappings_visit(write_mapping, (unsigned)(capacity - heap_walk.ranges - 1));
}

/* Writes the number of the walk, which is odd while the result is written. Atomic exchanges order
 * the stores before and after them, because the thread sanitizer does not know fences. Pairs with
 * readers of the file, who read the number before and after. */
static void mark(mw_both_t live, uint64_t sequence) {
	size_t offset_bytes = MW_LIVE(heap_walk_sequence);
	atomic_exchange_explicit((_Atomic uint64_t *)(void *)(live.table + offset_bytes), sequence,
				 memory_order_acq_rel);
	if (live.published)
		atomic_exchange_explicit(
			(_Atomic uint64_t *)(void *)(live.published + offset_bytes), sequence,
			memory_order_acq_rel);
}

static void write_walk(void) {
	static const mw_heap_walk_sink_t sink = {
		.range = write_range, .size_class = write_class, .chunk = write_chunk};
	mw_both_t live = mw_store_live_both();
	uint64_t sequence =
		atomic_load_explicit(&mw_store_live()->heap_walk_sequence, memory_order_relaxed);
	mark(live, sequence | 1);
	heap_walk.ranges = heap_walk.classes = heap_walk.chunks = 0;
	/* Written first: there may be more threads than there is room for. */
	write_own_ranges();
	heap_walk.walk(&sink);
	write_mappings();
	mw_both_set64(live, MW_LIVE(ranges_used), heap_walk.ranges);
	mw_both_set64(live, MW_LIVE(classes_used), heap_walk.classes);
	mw_both_set64(live, MW_LIVE(chunks_used), heap_walk.chunks);
	mw_both_set64(live, MW_LIVE(heap_walk_realtime_ns), mw_os_realtime_ns());
	mark(live, (sequence | 1) + 1);
}

void mw_heap_walk_take(bool now) {
	uint64_t begin = mw_os_monotonic_ns();
	if (!heap_walk.walk ||
	    (!now && begin < atomic_load_explicit(&heap_walk.next_ns, memory_order_relaxed)))
		return;
	/* Pairs with the release below. */
	if (atomic_exchange_explicit(&heap_walk.busy, true, memory_order_acquire))
		return;
	write_walk();
	uint64_t end = mw_os_monotonic_ns();
	atomic_store_explicit(&heap_walk.next_ns, end + (end - begin) * REST_FACTOR,
			      memory_order_relaxed);
	atomic_store_explicit(&heap_walk.busy, false, memory_order_release);
}

/* Size at which the next walk is due after one at `in_use_bytes`. Takes the lock of the heaps. */
static MW_COLD size_t next_after(size_t in_use_bytes) {
	uint32_t threads, behind;
	mw_heap_count_threads(&threads, &behind);
	return in_use_bytes + in_use_bytes / GROWTH_STEP +
	       (threads > 1 ? threads : 1) * GROWTH_MIN_BYTES;
}

bool mw_heap_walk_is_due(size_t in_use_bytes) {
	size_t next = atomic_load_explicit(&heap_walk.next_bytes, memory_order_relaxed);
	/* The thread that raises next_bytes walks the heap. */
	return heap_walk.walk && in_use_bytes > next &&
	       atomic_compare_exchange_strong_explicit(&heap_walk.next_bytes, &next,
						       next_after(in_use_bytes),
						       memory_order_relaxed, memory_order_relaxed);
}

void mw_heap_walk_count_resident(bool at_end) {
	/* Keeps walks away, which write the ranges. Pairs with the release below. */
	if (heap_walk.walk && mw_resident_pages_are_due(at_end) &&
	    !atomic_exchange_explicit(&heap_walk.busy, true, memory_order_acquire)) {
		mw_resident_pages_count(heap_walk.ranges, heap_walk.classes);
		atomic_store_explicit(&heap_walk.busy, false, memory_order_release);
	}
	if (at_end)
		mw_resident_pages_end();
}
