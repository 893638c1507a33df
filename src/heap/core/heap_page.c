/* SPDX-License-Identifier: MIT
 * heap_page.c -- the life of a page: made or reclaimed, queued, let go when full, given back. */
#include "heap/core/heap_page.h"

#include <string.h>

#include "base/bits.h"
#include "base/check.h"
#include "heap/layout/counters.h"
#include "heap/layout/queue.h"
#include "heap/layout/size_class.h"
#include "heap/local/head.h"
#include "heap/local/holes.h"
#include "heap/memory/chunk.h"
#include "heap/misuse/misuse.h"
#include "heap/remote/abandoned.h"
#include "heap/remote/remote.h"
#include "heap/sample/sampling.h"
#include "heap/thread/cached_heap.h"
#include "os/memory/map.h"

/* Blocks are linked up to one page of memory at a time: a program that needs a few blocks of a
 * class does not touch 64 KiB. */
#define CARVE_BYTES 4096u

/* Of a heap with so many pages a new page's memory comes from the kernel in larger steps than it is
 * linked in: what the last pages of each class have of it too early is then a small part. */
#define POPULATE_PAGES 256u
#define POPULATE_BYTES (16u << 10)
#define POPULATE_ALL_PAGES 1024u
/* Larger blocks leave kernel pages out that no link is in, and that the program may never use. */
#define POPULATE_BLOCK_BYTES 4096u

/* Pages without a block that a heap keeps, beside the last one of each class: blocks of a few to
 * the page would otherwise take slices and give them back all the time, under a lock. */
#define RETAINED_MAX 4u
#define RETAINED_BLOCK_BYTES 4096u
_Static_assert(RETAINED_BLOCK_BYTES > MW_TINY_MAX_BYTES, "find_at_once() in alloc.c relies on it");

/* Of a heap with so many pages the lists of tiny classes and their last pages are a small part. */
#define TINY_FLUSH_PAGES 256u

/* A heap that stays at its peak looks for pages to give back once in so many searches: those it
 * finds would otherwise be the ones it takes next. */
#define RELEASE_FINDS 64u

/* The heap is the calling thread's. */
static void claim(mw_heap_t *heap, mw_page_t *page, bool pushes) {
	atomic_store_explicit(&page->heap, heap, memory_order_relaxed);
	bool tiny = page->size_class < MW_TINY_CLASSES;
	bool fast = mw_harden_has_fast_paths() && (tiny || pushes);
	uintptr_t owner = tiny || !MW_HARDEN_ON ? heap->owner : heap->owner | MW_OWNER_STACK;
	mw_entry_t *entry = mw_page_entry(page);
	entry->list = tiny ? &page->list : mw_stack_of(page->size_class);
	if (!tiny)
		mw_harden_start_stack(entry->list, page->block_bytes);
	atomic_store_explicit(&entry->owner, fast ? owner : MW_OWNER_DIVERT, memory_order_relaxed);
}

void mw_heap_page_claim(mw_heap_t *heap, mw_page_t *page) {
	claim(heap, page, mw_thread.quick_heap != NULL);
}

void mw_heap_pages_claim(mw_heap_t *heap) {
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		for (mw_page_t *page = heap->queues[c].first; page; page = page->next)
			claim(heap, page, true);
}

void mw_heap_pages_divert(mw_heap_t *heap, unsigned from_class) {
	for (unsigned c = from_class; c < MW_CLASS_COUNT; c++)
		for (mw_page_t *page = heap->queues[c].first; page; page = page->next)
			mw_page_divert(page);
}

void mw_heap_count_page(mw_heap_t *heap, mw_page_t *page) {
	mw_heap_t *last = atomic_load_explicit(&page->last_heap, memory_order_relaxed);
	if (last == heap)
		return;
	if (last)
		atomic_fetch_sub_explicit(&last->pages, 1, memory_order_relaxed);
	atomic_store_explicit(&page->last_heap, heap, memory_order_relaxed);
	if (!heap)
		return;
	uint32_t pages = atomic_fetch_add_explicit(&heap->pages, 1, memory_order_relaxed) + 1;
	if (heap->pages_most < pages)
		heap->pages_most = pages;
}

static uint32_t pages_of(const mw_heap_t *heap) {
	return atomic_load_explicit(&((mw_heap_t *)(uintptr_t)heap)->pages, memory_order_relaxed);
}

/* The page of a run's slice number `i`. */
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
	mw_page_t *run = mw_chunk_take(slices, 1);
	if (!run)
		return NULL;
	for (unsigned i = slices; i-- > 0;) {
		init_page(run, i, size_class);
		mw_heap_count_page(heap, &run[i]);
		mw_heap_page_claim(heap, &run[i]);
		mw_queue_prepend(&heap->queues[size_class], &run[i]);
	}
	mw_counters_add(&mw_counters.pages[size_class], slices);
	mw_sampling_grew(heap, mw_heap_in_use_bytes());
	return run;
}

_Noreturn void mw_heap_page_corrupt(const mw_page_t *page) {
	mw_fatal("corrupt list of freed blocks in a page of size class %u at %p: written to after "
		 "free, or freed twice",
		 page->block_bytes, (void *)page->start);
}

/* The `count`th block of a list (>= 1), each of them looked at. */
static void *walk(const mw_page_t *page, void *list, uint32_t count) {
	for (;;) {
		if (!mw_page_holds(page, list))
			mw_heap_page_corrupt(page);
		if (--count == 0)
			return list;
		list = mw_link_get(list);
	}
}

/* The last block of a list of `count`.  The count bounds the walk: a list that a stray write made
 * longer, shorter or cyclic is caught, and so is one that leads out of the page. */
static void *last_of(const mw_page_t *page, void *list, uint32_t count) {
	void *last = walk(page, list, count);
	if (mw_link_get(last))
		mw_heap_page_corrupt(page);
	return last;
}

void *mw_heap_page_cut(const mw_page_t *page, void **list, uint32_t keep) {
	void *rest = *list;
	if (keep == 0) {
		*list = NULL;
		return rest;
	}
	void *last = walk(page, *list, keep);
	rest = mw_link_get(last);
	mw_link_set(last, NULL);
	return rest;
}

void mw_heap_page_put_back(mw_page_t *page, void *list, uint32_t count) {
	if (count == 0)
		return;
	if (count > page->used)
		mw_heap_page_corrupt(page);
	/* Only a list that comes before another must be walked: each block would be a cache miss.
	 */
	if (page->free)
		mw_link_set(last_of(page, list, count), page->free);
	page->free = list;
	page->used -= count;
}

void mw_heap_page_collect(mw_page_t *page) {
	uint64_t word = mw_remote_take(page);
	mw_heap_page_put_back(page, mw_remote_list(word), mw_remote_count(word));
}

/* Blocks up to number `end` are about to be linked in a page whose memory is fresh. */
static void populate(const mw_heap_t *heap, const mw_page_t *page, uint32_t end) {
	size_t step = pages_of(heap) < POPULATE_ALL_PAGES ? POPULATE_BYTES : MW_SLICE_BYTES;
	size_t here = mw_round_up((size_t)page->carved * page->block_bytes, step);
	size_t there = mw_round_up((size_t)end * page->block_bytes, step);
	if (there > here)
		mw_os_prefault(page->start + here, there - here);
}

/* Before what is free already.  Returns how many. */
static uint32_t carve(mw_heap_t *heap, mw_page_t *page) {
	if (MW_UNLIKELY(page->holes != 0)) {
		uint32_t linked = mw_holes_link(page);
		if (linked > 0)
			return linked;
	}
	uint32_t room = page->capacity - page->carved;
	uint32_t count = CARVE_BYTES / page->block_bytes;
	if (count == 0)
		count = 1;
	if (count > room)
		count = room;
	if (MW_UNLIKELY(pages_of(heap) >= POPULATE_PAGES) && page->zeroed &&
	    page->block_bytes <= POPULATE_BLOCK_BYTES)
		populate(heap, page, page->carved + count);
	if (count > 0)
		page->free = mw_harden_carve(page, page->carved, count, page->free);
	page->carved += count;
	return count;
}

uint32_t mw_heap_page_prepare(mw_heap_t *heap, mw_page_t *page) {
	if (page->is_retained) {
		page->is_retained = false;
		heap->retained--;
	}
	if (!page->free)
		mw_heap_page_collect(page);
	uint32_t count = page->carved - page->used, fresh = 0;
	if (count == 0 || (count < MW_LIST_BLOCKS && page->size_class < MW_TINY_CLASSES &&
			   page->carved * page->block_bytes < MW_LIST_BYTES))
		fresh = carve(heap, page);
	MW_ASSERT(page->free || mw_harden_aged(page));
	return fresh;
}

bool mw_heap_page_has_room(const mw_page_t *page) {
	return page->free || mw_harden_aged(page) || page->carved < page->capacity;
}

static bool has_blocks(mw_page_t *page) {
	if (mw_heap_page_has_room(page))
		return true;
	mw_heap_page_collect(page);
	return page->free != NULL;
}

/* The heap has the page, which had another thread or none.  What others freed of the page since
 * then counts as freed by this thread. */
static void own(mw_heap_t *heap, mw_page_t *page) {
	page->state = MW_PAGE_QUEUED;
	heap->counts.left_bytes -= (uint64_t)page->left_used * page->block_bytes;
	mw_heap_page_claim(heap, page);
	if (atomic_load_explicit(&page->last_heap, memory_order_relaxed) != heap)
		mw_counters_add(&mw_counters.reclaimed[page->size_class], 1);
	mw_heap_count_page(heap, page);
}

/* Out of the queue, to whoever frees into the page first.  False: a block came back. */
static bool let_go(mw_heap_t *heap, mw_page_t *page) {
	mw_page_queue_t *queue = &heap->queues[page->size_class];
	mw_queue_remove(queue, page);
	heap->counts.left_bytes += (uint64_t)page->used * page->block_bytes;
	if (mw_abandoned_full(page))
		return true;
	page->left_used = page->used;
	own(heap, page);
	mw_queue_prepend(queue, page);
	return false;
}

void mw_heap_page_put(mw_page_t *page, void *block) {
	mw_link_set(block, page->free);
	page->free = block;
	page->used--;
	if (page->used == 0)
		mw_heap_page_emptied(page);
}

void mw_heap_page_reclaim(mw_heap_t *heap, mw_page_t *page, void *list, uint32_t count) {
	own(heap, page);
	mw_queue_append(&heap->queues[page->size_class], page);
	mw_heap_page_put_back(page, list, count);
	if (page->used == 0)
		mw_heap_page_emptied(page);
}

/* Blocks in list heads and batches keep pages from being given back, and so does the rule that the
 * last page of a class stays.  A heap that is about to be larger than ever gives them back first,
 * so that they do not add to its peak.  The lists of tiny classes, which are long, only where they
 * are a small part of the heap. */
static void release_unused(mw_heap_t *heap) {
	mw_remote_flush(heap);
	for (unsigned c = pages_of(heap) < TINY_FLUSH_PAGES ? 0 : MW_TINY_CLASSES;
	     c < MW_CLASS_COUNT; c++)
		if (*mw_head_of(c))
			mw_heap_head_flush(heap, c);
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		mw_page_t *page = heap->queues[c].first;
		for (; page && page->used == 0; page = heap->queues[c].first)
			mw_heap_page_release(heap, page);
	}
}

static void release_at_peak(mw_heap_t *heap) {
	uint32_t pages = pages_of(heap);
	if (pages < heap->pages_most)
		return;
	if (pages <= heap->released_at_pages && heap->finds < RELEASE_FINDS)
		return;
	heap->released_at_pages = pages;
	heap->finds = 0;
	release_unused(heap);
}

/* Has the first page of the queue blocks for a refill?  A full one leaves the queue.  In the
 * hardened library a page with few free blocks goes behind the others, where it gathers more. */
static bool first_is_ready(mw_heap_t *heap, mw_page_queue_t *queue) {
	mw_page_t *page = queue->first;
	if (!has_blocks(page) && let_go(heap, page))
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
		own(heap, page);
		mw_queue_prepend(queue, page);
		if (first_is_ready(heap, queue))
			return true;
		/* It stayed, behind the others, with few blocks; those that follow may have few. */
		if (queue->last == page)
			return false;
	}
	return false;
}

mw_page_t *mw_heap_page_find(mw_heap_t *heap, unsigned size_class) {
	heap->finds++;
	mw_page_queue_t *queue = &heap->queues[size_class];
	if (find_queued(heap, queue))
		return queue->first;
	if (mw_cached_heap_is_due())
		mw_heap_maintain();
	if (find_abandoned(heap, queue, size_class))
		return queue->first;
	/* More memory is needed: others may wait for theirs as well. */
	release_at_peak(heap);
	mw_page_t *page = make_run(heap, size_class);
	/* Without memory the pages with few blocks serve as well. */
	return page ? page : queue->first;
}

void mw_heap_page_release(mw_heap_t *heap, mw_page_t *page) {
	/* No block is out that could be pushed. */
	MW_ASSERT(page->used == 0 && mw_remote_word(page) == 0);
	mw_queue_remove(&heap->queues[page->size_class], page);
	heap->retained -= page->is_retained;
	mw_abandoned_give(page);
}

void mw_heap_page_emptied(mw_page_t *page) {
	mw_heap_t *heap = mw_thread.heap;
	/* In the child of a fork a new thread may have the thread pointer of one that is gone. */
	if (atomic_load_explicit(&page->heap, memory_order_relaxed) != heap)
		return;
	mw_page_queue_t *queue = &heap->queues[page->size_class];
	/* The last one stays: a loop of malloc and free would take and give it at each turn. */
	if (page->state != MW_PAGE_QUEUED || queue->first == queue->last)
		return;
	if (page->block_bytes >= RETAINED_BLOCK_BYTES && heap->retained < RETAINED_MAX) {
		page->is_retained = true;
		heap->retained++;
		return;
	}
	mw_heap_page_release(heap, page);
}

void mw_heap_free_last(void *block, mw_list_t *list) {
	/* A page's list lies in the first slice of its blocks' chunk: no thread's does, even if its
	 * stack is a block. */
	if ((uintptr_t)list - (uintptr_t)mw_chunk_of(block) >= MW_SLICE_BYTES) {
		mw_heap_free_over(block, list);
		return;
	}
	mw_page_t *page = (mw_page_t *)((char *)list - offsetof(mw_page_t, list));
	if (MW_UNLIKELY(page->used != 0)) /* no block of it was out */
		mw_misuse_free_again(page, block);
	/* Mostly it is the last one of its class, which stays. */
	mw_heap_t *heap = atomic_load_explicit(&page->heap, memory_order_relaxed);
	mw_page_queue_t *queue = &heap->queues[page->size_class];
	if (queue->first != queue->last)
		mw_heap_page_emptied(page);
}

/* A page of the smallest blocks, and what free() may add (head.h). */
#define HEAD_MAX_BLOCKS (MW_SLICE_BYTES / MW_BLOCK_ALIGN + UINT8_MAX)

static MW_NOINLINE uint32_t count_blocks(const void *list) {
	uint32_t count = 0;
	/* Bounded: a list that a block freed twice made cyclic has no end. */
	for (const void *block = list; block; block = mw_link_get(block))
		if (++count > HEAD_MAX_BLOCKS)
			mw_heap_page_corrupt(mw_page_of_slice((uintptr_t)block));
	return count;
}

uint32_t mw_heap_head_count(unsigned size_class) {
	return count_blocks(*mw_head_of(size_class));
}

void mw_heap_head_flush(mw_heap_t *heap, unsigned size_class) {
	void **head = mw_head_of(size_class), *list = *head;
	uint32_t count = count_blocks(list);
	*head = NULL;
	mw_head_filled(heap, size_class, 0);
	if (size_class < MW_TINY_CLASSES)
		mw_remote_flush_bin(heap, size_class);
	if (!list)
		return;
	mw_counters_add(&mw_counters.flushes[size_class], 1);
	heap->counts.given[size_class] -= count;
	while (list) {
		void *block = list;
		list = mw_link_get(block);
		mw_page_t *page = mw_page_of_slice((uintptr_t)block);
		/* A list may hold blocks of other threads' pages, too. */
		if (atomic_load_explicit(&page->heap, memory_order_relaxed) == heap)
			mw_heap_page_put(page, block);
		else
			mw_remote_free(heap, page, block);
	}
	if (size_class < MW_TINY_CLASSES)
		mw_sampling_dropped(heap, size_class, count);
}
