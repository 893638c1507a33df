/* SPDX-License-Identifier: MIT
 * holes.c -- finds the kernel pages of a slice in which no block lives, purges them, and links
 * their blocks again. */
#include "heap/local/holes.h"

#include <stdatomic.h>

#include "base/bits.h"
#include "base/check.h"
#include "base/compiler.h"
#include "heap/layout/counters.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/size_class.h"
#include "heap/local/harden_lists.h"
#include "heap/local/heap.h"
#include "heap/local/heap_page.h"
#include "heap/memory/chunk.h"
#include "heap/memory/decay.h"
#include "os/time/clock.h"

/* Most holes that are filled by one call to the kernel. */
#define FILL_MOST 4u
/* How many blocks of a list are fetched ahead, as far as they lie one behind the other. */
#define AHEAD 8
/* A heap of fewer pages has little to give back. */
#define POLL_PAGES_MIN 128u
/* Least frees of samples between two polls: so many, and one for so many pages; in a thread that
 * frees other threads' blocks one for so many pages. */
#define POLL_FREES_MIN 8u
#define POLL_PAGES 256u
#define POLL_PAGES_REMOTE 16u
/* A page with more used blocks than this for each kernel page has too few free ones. */
#define SPARSE_USED 2u
/* A program that has less to give back keeps it. */
#define KEEP_MIN_BYTES ((size_t)8 << 20)
/* Most memory that goes in one call of free(): a program must not wait for longer than some
 * milliseconds. */
#define GO_AT_ONCE_BYTES ((size_t)8 << 20)
/* When the thread took again more than this part of what went, no more goes until the delay has
 * passed. */
#define MISSED_PART 8u

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
static MW_COLD uint32_t add_holes(free_bytes_t *free, const mw_page_t *page) {
	uint32_t blocks = 0;
	for (uint32_t left = page->holes; left; left &= left - 1) {
		range_t range = blocks_in(page, (unsigned)__builtin_ctz(left), 1);
		add_span(free, range.first * page->block_bytes, range.end * page->block_bytes);
		blocks += range.end - range.first;
	}
	return blocks;
}

/* Leaves out what is no whole page of a kernel whose pages are larger. */
static MW_COLD uint32_t of_whole_pages(uint32_t mask) {
	unsigned units = (unsigned)(mw_os_page_bytes() / MW_OS_PAGE_BYTES);
	for (unsigned first = 0; units > 1 && first < MW_SLICE_KERNEL_PAGES; first += units) {
		uint32_t of_page = (((uint32_t)1 << units) - 1) << first;
		if ((mask & of_page) != of_page)
			mask &= ~of_page;
	}
	return mask;
}

/* Returns a bit for each 4 KiB that are wholly free, no hole, and can be given back. */
static MW_COLD uint32_t find_free(const mw_page_t *page) {
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
	return of_whole_pages(found & ~(uint32_t)page->holes);
}

/* Takes blocks that begin in these kernel pages off the page's list; the others keep their order.
 */
static MW_COLD void drop_blocks(mw_page_t *page, uint32_t dropped) {
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
static MW_COLD uint32_t purge(const mw_page_t *page, uint32_t mask) {
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

static MW_COLD uint32_t make_in(mw_page_t *page) {
	uint32_t found = find_free(page);
	if (!found)
		return 0;
	if (mw_page_is_in_huge_page(page))
		mw_chunk_split_huge(page);
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

/* The hardened library checks what it wrote into free blocks, and keeps some of them elsewhere.
 * A kernel's page of 64 KiB is a whole slice. */
static bool has_holes(void) {
	return !MW_HARDEN_ON && mw_os_page_bytes() < MW_SLICE_BYTES;
}

size_t mw_holes_make(mw_heap_t *heap) {
	uint32_t went = 0;
	for (unsigned c = 0; has_holes() && c < MW_CLASS_COUNT; c++) {
		if (mw_class_run_slices[c] != 1)
			continue;
		for (mw_page_t *page = heap->queues[c].first; page; page = page->next)
			if (is_worth_it(page))
				went += make_in(page);
	}
	mw_counters_add(&mw_counters.hole_kernel_pages, went);
	return (size_t)went * MW_OS_PAGE_BYTES;
}

/* ---- a heap that shrank ---- */

/* Returns about how many of the page's kernel pages have no used block and are no holes yet; 0: the
 * page is not worth a search.  Where `used` blocks lie at random in n kernel pages, n * exp(-used /
 * n) have none. */
static uint32_t count_free(const mw_page_t *page) {
	uint32_t n = page->carved * page->block_bytes / MW_OS_PAGE_BYTES, used = page->used;
	if (used > SPARSE_USED * n || !is_worth_it(page))
		return 0;
	uint32_t free = n == 0 ? 0 : 2 * n * n * n / (2 * n * n + 2 * n * used + used * used);
	uint32_t holes = (uint32_t)__builtin_popcount(page->holes);
	return free > holes ? free - holes : 0;
}

/* The memory that a heap could give back. */
typedef struct sparse {
	uint32_t pages;
	size_t kernel_pages, in_huge_pages; /* the latter are among the former */
} sparse_t;

static MW_COLD sparse_t find_sparse(const mw_heap_t *heap) {
	sparse_t sparse = {0};
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		if (mw_class_run_slices[c] != 1)
			continue;
		for (const mw_page_t *page = heap->queues[c].first; page; page = page->next) {
			uint32_t free = count_free(page);
			sparse.pages += free > 0;
			sparse.kernel_pages += free;
			sparse.in_huge_pages += mw_page_is_in_huge_page(page) ? free : 0;
		}
	}
	return sparse;
}

/* malloc() fills the pages in front of a queue first, so those behind come first here. */
static MW_COLD size_t make_in_sparse(mw_heap_t *heap, bool splits, size_t wanted_bytes) {
	size_t went_bytes = 0;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		if (mw_class_run_slices[c] != 1)
			continue;
		for (mw_page_t *page = heap->queues[c].last; page && went_bytes < wanted_bytes;
		     page = page->prev)
			if (count_free(page) > 0 && (splits || !mw_page_is_in_huge_page(page)))
				went_bytes += make_in(page) * MW_OS_PAGE_BYTES;
	}
	mw_counters_add(&mw_counters.hole_kernel_pages, went_bytes / MW_OS_PAGE_BYTES);
	return went_bytes;
}

/* Half of the thread's samples stand for half of its bytes.  A poll reads every page of the heap:
 * a thread that frees other threads' samples, and so has few or none, polls once for a part of its
 * pages. */
static MW_COLD uint32_t frees_until_poll(const mw_heap_t *heap) {
	int32_t samples = heap->holes.samples;
	uint32_t pages = mw_heap_pages(heap), least = POLL_FREES_MIN + pages / POLL_PAGES;
	uint32_t frees = samples > 0 ? (uint32_t)samples / 2 : pages / POLL_PAGES_REMOTE;
	return frees > least ? frees : least;
}

/* Starts a new window once the delay has passed since memory went.  Returns whether the program
 * needs what went in this window. */
static MW_COLD bool is_missed(mw_holes_t *holes, uint64_t now_ns) {
	if (now_ns >= holes->decay.gone_due_ns)
		holes->gone_bytes = holes->missed_bytes = 0;
	return holes->missed_bytes > holes->gone_bytes / MISSED_PART;
}

/* Sets how much is to go. */
static MW_COLD void look_for_sparse(mw_heap_t *heap) {
	mw_holes_t *holes = &heap->holes;
	uint32_t pages = mw_heap_pages(heap);
	sparse_t sparse = find_sparse(heap);
	/* A huge page is split only in a heap that has become small in most of its pages. */
	holes->splits = sparse.pages > pages / 2;
	holes->sparse_bytes = (sparse.kernel_pages - (holes->splits ? 0 : sparse.in_huge_pages)) *
			      MW_OS_PAGE_BYTES;
	holes->decay.delay_ns = mw_chunk_decay_ns();
	holes->decay.early = mw_chunk_purges_early();
	holes->decay.keep_min_bytes = KEEP_MIN_BYTES;
	holes->decay.youth_end_ns = 1; /* less than the minimum stays in a young program, too */
	holes->wanted_bytes = mw_decay_excess_bytes(&holes->decay, holes->sparse_bytes,
						    pages * MW_SLICE_BYTES / MW_DECAY_KEEP_SHARE);
}

/* Has the next part of what is wanted go. */
static MW_COLD void go_on(mw_heap_t *heap, uint64_t now_ns) {
	mw_holes_t *holes = &heap->holes;
	size_t bytes =
		holes->wanted_bytes < GO_AT_ONCE_BYTES ? holes->wanted_bytes : GO_AT_ONCE_BYTES;
	size_t went_bytes = make_in_sparse(heap, holes->splits, bytes);
	holes->gone_bytes += went_bytes;
	mw_decay_went_early(&holes->decay, went_bytes, now_ns);
	holes->sparse_bytes -= went_bytes < holes->sparse_bytes ? went_bytes : holes->sparse_bytes;
	if (went_bytes < bytes)
		mw_decay_stayed(&holes->decay, holes->sparse_bytes);
	/* More may have gone than was asked for, by a page. */
	bool is_done = went_bytes < bytes || went_bytes >= holes->wanted_bytes;
	holes->wanted_bytes -= is_done ? holes->wanted_bytes : went_bytes;
	if (!is_done)
		holes->frees_to_go = 0;
}

void mw_holes_poll(mw_heap_t *heap) {
	mw_holes_t *holes = &heap->holes;
	holes->frees_to_go = frees_until_poll(heap);
	if (!has_holes() || mw_heap_pages(heap) < POLL_PAGES_MIN)
		return;
	uint64_t now_ns = mw_os_monotonic_coarse_ns();
	if (is_missed(holes, now_ns)) {
		holes->wanted_bytes = 0;
		return;
	}
	if (holes->wanted_bytes == 0)
		look_for_sparse(heap);
	if (holes->wanted_bytes > 0)
		go_on(heap, now_ns);
}

static MW_COLD void missed(mw_heap_t *heap, size_t bytes) {
	heap->holes.missed_bytes += bytes;
	mw_decay_missed(&heap->holes.decay, bytes);
}

uint32_t mw_holes_link(mw_heap_t *heap, mw_page_t *page) {
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
		missed(heap, span * MW_OS_PAGE_BYTES);
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
