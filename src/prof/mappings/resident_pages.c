/* SPDX-License-Identifier: MIT
 * resident_pages.c -- reads /proc/self/pagemap. mincore(2) would tell the same, but a filter of
 * system calls may end a program that calls it. */
#include "prof/mappings/resident_pages.h"

#include <stdatomic.h>
#include <stddef.h>

#include "os/file/file.h"
#include "os/file/proc.h"
#include "os/memory/map.h"
#include "prof/store/store.h"
#include "state/stats.h"

/* A count reads the kernel's entries of this many pages at a time, 512 KiB, and of about this many
 * in all, which takes some 100 us: of a larger heap every k-th 512 KiB. */
#define PAGES_AT_ONCE 128u
#define PAGES_COUNTED_MAX 16384u
#define PAGE_IS_PRESENT ((uint64_t)1 << 63)
/* A count is due when resident memory has grown by this part and by this much since the last one.
 */
#define GROWTH_STEP 32u
#define GROWTH_MIN_BYTES ((uint64_t)256 << 10)

/* Resident memory at which a count is due. */
static _Atomic uint64_t next_count_bytes;

static void set_stat(unsigned row, uint64_t value) {
	mw_both_set64(mw_store_live_both(), MW_LIVE(stats) + row * sizeof(uint64_t), value);
}

void mw_resident_pages_forked(void) {
	atomic_store_explicit(&next_count_bytes, 0, memory_order_relaxed);
	for (unsigned row = MW_STAT_OF_HEAP; row < MW_STAT_COUNT; row++)
		set_stat(row, 0);
}

/* Pages of one kind: in all ranges, read, and found resident. */
typedef struct page_count {
	uint64_t pages, read, present;
} page_count_t;

static void count_unit(int file, uint64_t page, uint64_t pages, page_count_t *count) {
	uint64_t entries[PAGES_AT_ONCE];
	long got = mw_os_read_at(file, entries, pages * sizeof(uint64_t), page * sizeof(uint64_t));
	for (long i = 0; i < got / (long)sizeof(uint64_t); i++)
		count->present += (entries[i] & PAGE_IS_PRESENT) != 0;
	count->read += got > 0 ? (uint64_t)got / sizeof(uint64_t) : 0;
}

static bool is_counted(const mw_state_range_t *range) {
	return range->kind > MW_RANGE_NONE && range->kind <= MW_RANGE_PROFILER &&
	       range->start < range->limit;
}

/* Adds up the pages of the last walk's ranges, and reads every `step`-th unit; 0: none. */
static void count_pages(int file, uint64_t found, uint64_t step, page_count_t *heap,
			page_count_t *profiler) {
	uint64_t capacity = mw_store_header()->sections[MW_SECTION_RANGES].capacity;
	uint64_t ranges = found < capacity ? found : capacity, unit = 0;
	for (uint64_t i = 0; i < ranges; i++) {
		const mw_state_range_t *range = mw_store_private(MW_SECTION_RANGES, i);
		page_count_t *count = range->kind == MW_RANGE_PROFILER ? profiler : heap;
		if (!is_counted(range))
			continue;
		uint64_t page = range->start / mw_os_counted_page_bytes();
		uint64_t end = (range->limit + mw_os_counted_page_bytes() - 1) /
			       mw_os_counted_page_bytes();
		count->pages += end - page;
		for (; step > 0 && page < end; page += PAGES_AT_ONCE)
			if (unit++ % step == 0)
				count_unit(file, page,
					   end - page < PAGES_AT_ONCE ? end - page : PAGES_AT_ONCE,
					   count);
	}
}

static uint64_t resident_bytes(const page_count_t *count) {
	double share = count->read > 0 ? (double)count->present / (double)count->read : 0;
	return (uint64_t)((double)count->pages * share) * mw_os_counted_page_bytes();
}

/* Bytes of blocks that the program holds, by the last walk. */
static uint64_t block_bytes(uint64_t classes) {
	uint64_t bytes = atomic_load_explicit(&mw_store_live()->stats[MW_STAT_huge_bytes],
					      memory_order_relaxed);
	for (uint64_t i = 0; i < classes; i++) {
		const mw_state_class_t *class = mw_store_private(MW_SECTION_CLASSES, i);
		bytes += class->used_bytes;
	}
	return bytes;
}

static void write_count(int file, uint64_t ranges, uint64_t classes) {
	page_count_t heap = {0}, profiler = {0};
	uint64_t of_files, all = mw_os_resident_bytes(&of_files);
	count_pages(file, ranges, 0, &heap, &profiler);
	uint64_t pages = heap.pages + profiler.pages;
	heap.pages = profiler.pages = 0;
	count_pages(file, ranges, 1 + pages / PAGES_COUNTED_MAX, &heap, &profiler);
	set_stat(MW_STAT_resident_looks,
		 1 + atomic_load_explicit(&mw_store_live()->stats[MW_STAT_resident_looks],
					  memory_order_relaxed));
	set_stat(MW_STAT_peak_resident_bytes, all);
	set_stat(MW_STAT_peak_file_bytes, of_files);
	set_stat(MW_STAT_peak_heap_bytes, resident_bytes(&heap));
	set_stat(MW_STAT_peak_profiler_bytes, resident_bytes(&profiler));
	set_stat(MW_STAT_peak_block_bytes, block_bytes(classes));
	atomic_store_explicit(&next_count_bytes, all + all / GROWTH_STEP + GROWTH_MIN_BYTES,
			      memory_order_relaxed);
}

bool mw_resident_pages_are_due(bool at_end) {
	const mw_state_live_t *live = mw_store_live();
	const _Atomic uint64_t *before =
		at_end ? &live->stats[MW_STAT_peak_resident_bytes] : &next_count_bytes;
	return atomic_load_explicit(&live->resident_bytes, memory_order_relaxed) >
	       atomic_load_explicit(before, memory_order_relaxed);
}

void mw_resident_pages_count(uint64_t ranges, uint64_t classes) {
	int file = mw_os_open(MW_OS_NO_DIRECTORY, "/proc/self/pagemap", MW_OS_READ);
	if (file < 0)
		return;
	write_count(file, ranges, classes);
	mw_os_close(file);
}

void mw_resident_pages_end(void) {
	set_stat(MW_STAT_resident_most_bytes, mw_os_resident_most_bytes());
}
