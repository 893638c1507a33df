/* SPDX-License-Identifier: MIT
 * holes.c -- finds the kernel pages of a slice in which no block lives, purges them, and links
 * their blocks again. */
#include "heap/local/holes.h"

#include <stdatomic.h>

#include "base/bits.h"
#include "base/check.h"
#include "heap/layout/counters.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/size_class.h"
#include "heap/local/harden_lists.h"
#include "heap/local/heap.h"
#include "heap/local/heap_page.h"

/* Most holes that are filled by one call to the kernel. */
#define FILL_MOST 4u
/* How many blocks of a list are fetched ahead, as far as they lie one behind the other. */
#define AHEAD 8

/* Numbers of the blocks that begin in a kernel page. */
typedef struct range {
	uint32_t first, end;
} range_t;

static range_t blocks_in(const mw_page_t *page, unsigned first, unsigned count) {
	uint32_t bytes = page->block_bytes;
	uint32_t from = first * MW_OS_PAGE_BYTES, to = (first + count) * MW_OS_PAGE_BYTES;
	range_t range = {(from + bytes - 1) / bytes, (to + bytes - 1) / bytes};
	if (range.end > page->capacity)
		range.end = page->capacity;
	if (range.first > range.end)
		range.first = range.end;
	return range;
}

static uint32_t offset_of(const mw_page_t *page, const void *block) {
	return (uint32_t)((const char *)block - page->start);
}

bool mw_holes_hold(const mw_page_t *page, const void *block) {
	return page->holes >> (offset_of(page, block) / MW_OS_PAGE_BYTES) & 1;
}

/* Free bytes of each kernel page. */
typedef struct free_bytes {
	uint32_t of[MW_SLICE_KERNEL_PAGES];
} free_bytes_t;

static void add_span(free_bytes_t *free, uint32_t offset, uint32_t end) {
	while (offset < end) {
		uint32_t i = offset / MW_OS_PAGE_BYTES, next = (i + 1) * MW_OS_PAGE_BYTES;
		if (next > end)
			next = end;
		free->of[i] += next - offset;
		offset = next;
	}
}

/* Adds blocks that are in no list because they begin in a hole.  Returns how many. */
static uint32_t add_holes(free_bytes_t *free, const mw_page_t *page) {
	uint32_t blocks = 0;
	for (uint32_t left = page->holes; left; left &= left - 1) {
		range_t range = blocks_in(page, (unsigned)__builtin_ctz(left), 1);
		add_span(free, range.first * page->block_bytes, range.end * page->block_bytes);
		blocks += range.end - range.first;
	}
	return blocks;
}

/* Leaves out single pages: a call to the kernel now and a page fault later do not pay for 4 KiB. */
static uint32_t without_single(uint32_t mask) {
	uint32_t pairs = mask & mask >> 1;
	return pairs | pairs << 1;
}

/* Returns a bit for each kernel page that is wholly free and no hole. */
static uint32_t find_free(const mw_page_t *page) {
	free_bytes_t free = {{0}};
	uint32_t bytes = page->block_bytes, count = page->carved - page->used;
	const char *last = page->free;
	for (const char *block = last; block; last = block, block = mw_link_get(block)) {
		__builtin_prefetch(block + (block - last) * AHEAD);
		if (!mw_page_holds(page, block) || count-- == 0)
			mw_heap_page_corrupt(page);
		uint32_t offset = offset_of(page, block);
		add_span(&free, offset, offset + bytes);
	}
	uint32_t ever = page->carved + add_holes(&free, page);
	uint32_t end = ever * bytes; /* no byte behind it was touched */
	if (ever == page->capacity) {
		add_span(&free, end, MW_SLICE_BYTES);
		end = MW_SLICE_BYTES;
	}
	uint32_t found = 0;
	for (uint32_t i = 0; i < end / MW_OS_PAGE_BYTES; i++)
		found |= (uint32_t)(free.of[i] == MW_OS_PAGE_BYTES) << i;
	return without_single(found & ~page->holes);
}

/* Takes blocks that begin in these kernel pages off the page's list; the others keep their order.
 */
static void drop_blocks(mw_page_t *page, uint32_t dropped) {
	void *kept = NULL, *last = NULL, *next;
	for (void *block = page->free; block; block = next) {
		next = mw_link_get(block);
		if (dropped >> (offset_of(page, block) / MW_OS_PAGE_BYTES) & 1) {
			page->carved--;
			continue;
		}
		if (last)
			mw_link_set(last, block);
		else
			kept = block;
		last = block;
	}
	if (last)
		mw_link_set(last, NULL);
	page->free = kept;
}

/* Returns the kernel pages that went.  Pages that the kernel refuses count as holes all the same.
 */
static uint32_t purge(const mw_page_t *page, uint32_t mask) {
	uint32_t went = 0;
	while (mask) {
		unsigned first = (unsigned)__builtin_ctz(mask);
		unsigned count = (unsigned)__builtin_ctz(~(mask >> first));
		if (mw_os_purge(page->start + first * MW_OS_PAGE_BYTES, count * MW_OS_PAGE_BYTES))
			went += count;
		mask &= mask + (mask & -mask);
	}
	return went;
}

/* Tells a leak check that stops the thread that lists, counts and holes do not fit each other. */
static void set_between(mw_page_t *page, bool is_between) {
	atomic_signal_fence(memory_order_seq_cst);
	page->is_between = is_between;
	atomic_signal_fence(memory_order_seq_cst);
}

static uint32_t make_in(mw_page_t *page) {
	uint32_t found = find_free(page);
	if (!found)
		return 0;
	set_between(page, true);
	drop_blocks(page, found);
	page->holes |= (uint16_t)found;
	set_between(page, false);
	return purge(page, found);
}

/* Leaves out pages without a block, whose whole slice can be given back later, and holes that would
 * split a huge page. */
static bool is_worth_it(const mw_page_t *page) {
	return page->used != 0 && !mw_chunk_of(page)->never_purged;
}

size_t mw_holes_make(mw_heap_t *heap) {
	uint32_t went = 0;
	/* The hardened library checks what it wrote into free blocks, and keeps some of them
	 * elsewhere. */
	for (unsigned c = 0; !MW_HARDEN_ON && c < MW_CLASS_COUNT; c++) {
		if (mw_class_run_slices[c] != 1)
			continue;
		for (mw_page_t *page = heap->queues[c].first; page; page = page->next)
			if (is_worth_it(page))
				went += make_in(page);
	}
	mw_counters_add(&mw_counters.hole_kernel_pages, went);
	return (size_t)went * MW_OS_PAGE_BYTES;
}

uint32_t mw_holes_link(mw_page_t *page) {
	uint32_t count = 0;
	set_between(page, true);
	while (count == 0 && page->holes) {
		unsigned first = (unsigned)__builtin_ctz(page->holes);
		unsigned span = (unsigned)__builtin_ctz(~((uint32_t)page->holes >> first));
		if (span > FILL_MOST)
			span = FILL_MOST;
		page->holes &= (uint16_t) ~(((1u << span) - 1) << first);
		range_t range = blocks_in(page, first, span);
		count = range.end - range.first;
		if (count == 0)
			continue;
		/* For a single kernel page a page fault is as fast. */
		if (span > 1 && page->block_bytes <= MW_OS_PAGE_BYTES)
			mw_os_prefault(page->start + first * MW_OS_PAGE_BYTES,
				       span * MW_OS_PAGE_BYTES);
		page->free = mw_harden_carve(page, range.first, count, page->free);
		page->carved += count;
	}
	set_between(page, false);
	return count;
}
