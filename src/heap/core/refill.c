/* SPDX-License-Identifier: MIT
 * refill.c -- the way down from an empty tcache list: blocks at hand, a page of the heap, an
 * abandoned page, a new run of pages. */
#include "heap/core/refill.h"

#include <string.h>

#include "base/check.h"
#include "heap/core/fast.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/queue.h"
#include "heap/layout/size_class.h"
#include "heap/local/counts.h"
#include "heap/local/harden_lists.h"
#include "heap/local/heap.h"
#include "heap/local/heap_page.h"
#include "heap/local/inherited.h"
#include "heap/local/tcache.h"
#include "heap/memory/chunk.h"
#include "heap/memory/limit.h"
#include "heap/remote/abandoned.h"
#include "heap/remote/ownership.h"
#include "heap/remote/remote.h"
#include "heap/sample/sampling.h"
#include "heap/thread/flush.h"
#include "heap/thread/maintain.h"
#include "heap/thread/thread.h"
#include "heap/thread/verify.h"

/* A growing heap looks for pages to release whenever it has grown by this part: each search reads
 * every block of the lists of tiny classes. */
#define RELEASE_PART 4u
/* A heap that stays at its peak looks for pages to release once in so many searches: the pages it
 * finds would otherwise be the ones it takes next. */
#define RELEASE_FINDS 64u

/* Sets up the page of slice number `i` of a run. */
static void init_page(mw_page_t *run, unsigned i, unsigned size_class) {
	mw_page_t *page = run + i;
	uint32_t block_bytes = mw_class_bytes[size_class];
	size_t slice_start = i * MW_SLICE_BYTES, over = slice_start % block_bytes;
	size_t lead_bytes = over ? block_bytes - over : 0;
	size_t span_bytes = MW_SLICE_BYTES - lead_bytes;
	if (i > 0) {
		memset(page, 0, sizeof *page);
		page->slice_count = 1;
	}
	page->start = run->start + slice_start + lead_bytes;
	/* Within a run the last block may end in the next slice. */
	page->capacity =
		(uint32_t)(run->slice_count == 1 ? span_bytes / block_bytes
						 : (span_bytes + block_bytes - 1) / block_bytes);
	page->block_bytes = block_bytes;
	page->size_class = (uint8_t)size_class;
	page->first_slice = (uint8_t)mw_page_slice_index(run);
	page->kind = MW_PAGE_SMALL;
	page->state = MW_PAGE_QUEUED;
	mw_page_set_class_byte(page, size_class < MW_TINY_CLASSES ? (uint8_t)(size_class + 1) : 0);
	atomic_store_explicit(&page->last_heap, NULL, memory_order_relaxed);
	mw_harden_start_page(page);
}

static mw_page_t *make_run(mw_heap_t *heap, unsigned size_class) {
	unsigned slices = mw_class_run_slices[size_class];
	bool reserved;
	mw_page_t *run = mw_heap_take_slices(heap, slices, &reserved);
	if (!run)
		return NULL;
	for (unsigned i = slices; i-- > 0;) {
		init_page(run, i, size_class);
		mw_heap_count_page(heap, &run[i]);
		mw_heap_page_claim(heap, &run[i]);
		mw_queue_prepend(&heap->queues[size_class], &run[i]);
	}
	heap->counts.pages[size_class] += slices;
	if (!reserved)
		mw_sampling_grew(heap, mw_heap_in_use_bytes());
	return run;
}

static bool has_blocks(mw_page_t *page) {
	if (mw_heap_page_has_room(page))
		return true;
	mw_heap_page_collect(page);
	return page->free != NULL;
}

static void release_at_peak(mw_heap_t *heap) {
	uint32_t pages = mw_heap_pages(heap);
	if (pages < heap->pages_most)
		return;
	if (pages <= heap->released_at_pages + heap->released_at_pages / RELEASE_PART &&
	    heap->finds < RELEASE_FINDS)
		return;
	heap->released_at_pages = pages;
	heap->finds = 0;
	mw_heap_release_unused(heap);
}

/* Returns whether the first page of the queue has blocks for a refill.  A full one leaves the
 * queue.  In the hardened library a page with few free blocks goes behind the others, where it
 * gathers more. */
static bool first_is_ready(mw_heap_t *heap, mw_page_queue_t *queue) {
	mw_page_t *page = queue->first;
	if (!has_blocks(page) && mw_heap_page_abandon_full(heap, page))
		return false;
	if (mw_harden_is_short(page))
		mw_heap_page_collect(page);
	if (MW_LIKELY(!mw_harden_is_short(page)))
		return true;
	mw_queue_remove(queue, page);
	mw_queue_append(queue, page);
	return false;
}

/* Moves pages until the first of the queue is ready; false: none is. */
static bool find_queued(mw_heap_t *heap, mw_page_queue_t *queue) {
	/* Each page comes to the front once. */
	for (const mw_page_t *last = queue->last, *page; (page = queue->first) != NULL;) {
		if (first_is_ready(heap, queue))
			return true;
		if (page == last)
			break;
	}
	return false;
}

/* Takes pages of other threads until one is ready, at the front of the queue; false: none is. */
static bool find_abandoned(mw_heap_t *heap, mw_page_queue_t *queue, unsigned size_class) {
	mw_page_t *page;
	while ((page = mw_abandoned_take(size_class)) != NULL) {
		mw_heap_page_own(heap, page);
		mw_queue_prepend(queue, page);
		if (first_is_ready(heap, queue))
			return true;
		/* The page stayed behind the others, because it has few blocks.  The following
		 * pages may have few blocks, too. */
		if (queue->last == page)
			return false;
	}
	return false;
}

/* Returns a page of the class with free blocks or room to carve, at the front of its queue.  NULL:
 * no memory. */
static MW_NOINLINE mw_page_t *find_page(mw_heap_t *heap, unsigned size_class) {
	heap->finds++;
	mw_page_queue_t *queue = &heap->queues[size_class];
	if (find_queued(heap, queue))
		return queue->first;
	mw_cached_heaps_maintain();
	if (find_abandoned(heap, queue, size_class))
		return queue->first;
	/* More memory is needed. */
	release_at_peak(heap);
	mw_page_t *page = make_run(heap, size_class);
	/* If there is no memory, a page with few blocks must do. */
	return page ? page : queue->first;
}

/* ---- lists ---- */

/* Makes a list of blocks that were counted the tcache list of a tiny class, and pops the first. */
MW_ALWAYS_INLINE void *start_list(mw_heap_t *heap, unsigned size_class, void *list) {
	heap->counts.fills[size_class]++;
	heap->tcache_changes++;
	mw_thread.tcache_tiny[size_class] = mw_link_get(list);
	return list;
}

/* Takes the bin of other threads' blocks (heap/remote/remote.h) as the list.  NULL: the list has
 * blocks, or the next sample is among the bin's, or inherited blocks come first. */
static MW_NOINLINE void *take_bin(mw_heap_t *heap, unsigned size_class) {
	if (mw_thread.tcache_tiny[size_class] ||
	    heap->until_sample_tiny[size_class] <= mw_remote_bin_length(heap, size_class))
		return NULL;
	uint32_t count;
	void *list = mw_remote_take_bin(heap, size_class, &count);
	mw_tcache_ran_empty(heap, size_class);
	heap->until_sample_tiny[size_class] -= count;
	heap->counts.given[size_class] += count;
	return start_list(heap, size_class, list);
}

/* Returns the first page of the queue if its free list is worth detaching, and stores the list's
 * length in *count.  Examines no other page. */
MW_ALWAYS_INLINE mw_page_t *first_at_once(mw_heap_t *heap, unsigned size_class, uint32_t *count) {
	mw_page_t *page = heap->queues[size_class].first;
	/* Classes of tiny blocks have no retained empty pages. */
	if (MW_UNLIKELY(!page) || (size_class >= MW_TINY_CLASSES && MW_UNLIKELY(page->is_retained)))
		return NULL;
	*count = page->carved - page->used;
	return MW_LIKELY(*count >= MW_LIST_BLOCKS) ? page : NULL;
}

/* The common refill of a tiny class: the list is empty, blocks are at hand, no setting has changed
 * and no sample is among the blocks.  Needs no stack frame.  NULL: another case. */
MW_ALWAYS_INLINE void *refill_tiny_at_once(mw_heap_t *heap, unsigned size_class) {
	if (MW_UNLIKELY(mw_sampling_is_polled(heap)))
		return NULL;
	/* One test covers both cases: neither the list nor the bin has blocks. */
	uintptr_t blocks = (uintptr_t)mw_thread.tcache_tiny[size_class] |
			   (uintptr_t)mw_remote_bin(heap, size_class)->first;
	if (MW_UNLIKELY(blocks != 0))
		return take_bin(heap, size_class);
	uint32_t count;
	mw_page_t *page = first_at_once(heap, size_class, &count);
	if (MW_UNLIKELY(!page))
		return NULL;
	/* Also false while a sample is due where the last list was cut, and while inherited blocks
	 * come first. */
	if (MW_UNLIKELY(heap->until_sample_tiny[size_class] <= count))
		return NULL;
	MW_ASSERT(!(heap->cut >> size_class & 1));
	void *list;
	uint32_t held = mw_harden_hold_back(page, &list, count, 0);
	heap->until_sample_tiny[size_class] -= count - held;
	heap->counts.given[size_class] += count - held;
	page->used = page->carved - held;
	return start_list(heap, size_class, list);
}

void *mw_refill_at_once(size_t bytes) {
	mw_heap_t *heap = mw_thread.heap;
	if (MW_UNLIKELY(!heap) || MW_UNLIKELY(bytes > MW_TINY_MAX_BYTES) ||
	    MW_UNLIKELY(heap->none_listed))
		return NULL;
	void *block = refill_tiny_at_once(heap, mw_class_of_tiny[bytes]);
	if (MW_LIKELY(block != NULL))
		mw_verify_tick(heap);
	return block;
}

/* Tiny classes: returns a block of the present tcache list, or of what the heap's former thread
 * left of its list; the countdown includes both.  NULL: nothing is left. */
static void *take_left(mw_heap_t *heap, unsigned size_class) {
	if (MW_UNLIKELY(heap->none_listed))
		return NULL;
	/* The list is not empty if a new handler, which ran in between, freed or allocated. */
	void *block = mw_fast_pop(size_class);
	if (MW_UNLIKELY(block != NULL) || MW_LIKELY(!heap->inherited[size_class].first))
		return block;
	return start_list(heap, size_class, mw_inherited_take(heap, size_class));
}

/* Takes the free blocks of a page, which count as used from now on.  Returns how many; 0: no
 * memory.
 */
MW_ALWAYS_INLINE uint32_t take_list(mw_heap_t *heap, unsigned size_class, mw_page_t **from,
				    void **list) {
	uint32_t fresh = 0, count;
	mw_page_t *page = first_at_once(heap, size_class, &count);
	if (MW_UNLIKELY(!page)) {
		page = find_page(heap, size_class);
		if (!page)
			return 0;
		fresh = mw_heap_page_prepare(heap, page);
		count = page->carved - page->used;
	}
	*from = page;
	uint32_t held = mw_harden_hold_back(page, list, count, fresh);
	heap->counts.given[size_class] += count - held;
	mw_heap_counts_show(heap);
	page->used = page->carved - held;
	return count - held;
}

/* Ends the list before its block number `keep`; the rest returns to the page. */
static MW_NOINLINE void cut(mw_page_t *page, void **list, uint32_t keep, uint32_t count) {
	mw_heap_page_put_back(page, mw_heap_page_cut(page, list, keep), count - keep);
}

static MW_NOINLINE void *refill_tiny(mw_heap_t *heap, unsigned size_class) {
	if (mw_remote_bin(heap, size_class)->first) {
		void *block = take_bin(heap, size_class);
		if (block)
			return block;
	}
	mw_page_t *page;
	void *list;
	uint32_t count = take_list(heap, size_class, &page, &list);
	if (MW_UNLIKELY(count == 0))
		return NULL;
	uint32_t keep = mw_sampling_allow(heap, size_class, count);
	MW_ASSERT(keep > 0);
	if (MW_UNLIKELY(keep < count)) {
		cut(page, &list, keep, count);
		heap->counts.given[size_class] -= count - keep;
	}
	return start_list(heap, size_class, list);
}

static MW_NOINLINE void *refill_above_tiny(mw_heap_t *heap, unsigned size_class) {
	mw_list_t *tcache = mw_tcache_of(size_class);
	void *list = tcache->first;
	if (!list) {
		mw_tcache_ran_empty(heap, size_class);
		mw_page_t *page;
		uint32_t count = take_list(heap, size_class, &page, &list);
		if (MW_UNLIKELY(count == 0))
			return NULL;
		heap->counts.fills[size_class]++;
		mw_tcache_filled(heap, size_class, count);
	}
	tcache->first = mw_link_get(list);
	tcache->room++;
	mw_heap_counts_given(heap, size_class);
	return list;
}

void *mw_refill(mw_heap_t *heap, unsigned size_class, size_t bytes) {
	void *block = size_class < MW_TINY_CLASSES ? take_left(heap, size_class) : NULL;
	if (MW_LIKELY(!block))
		block = mw_sampling_alloc(heap, size_class, bytes);
	if (MW_UNLIKELY(block != NULL))
		return block;
	return size_class < MW_TINY_CLASSES ? refill_tiny(heap, size_class)
					    : refill_above_tiny(heap, size_class);
}
