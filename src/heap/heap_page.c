/* SPDX-License-Identifier: MIT
 * heap_page.c -- the life of a page: made or adopted, queued, full, queued again, given back. */
#include "heap/heap_page.h"

#include <string.h>

#include "base/bits.h"
#include "base/check.h"
#include "heap/chunk.h"
#include "heap/head.h"
#include "heap/holes.h"
#include "heap/inbox.h"
#include "heap/misuse.h"
#include "heap/orphan.h"
#include "heap/outbox.h"
#include "heap/park.h"
#include "heap/queue.h"
#include "heap/remote.h"
#include "heap/sampling.h"
#include "heap/size_class.h"
#include "heap/tally.h"
#include "os/map.h"

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
#define SPARES_MAX 4u
#define SPARE_BLOCK_BYTES 4096u
_Static_assert(SPARE_BLOCK_BYTES > MW_TINY_MAX_BYTES, "find_at_once() in alloc.c relies on it");

/* Of a heap with so many pages the lists of tiny classes and their last pages are a small part. */
#define TINY_FLUSH_PAGES 256u

/* A heap that stays at its peak looks for pages to give back once in so many searches: those it
 * finds would otherwise be the ones it takes next. */
#define MAKE_WAY_FINDS 64u

/* The heap is the calling thread's. */
static void claim(mw_heap_t *heap, mw_page_t *page, bool pushes) {
	atomic_store_explicit(&page->heap, heap, memory_order_relaxed);
	bool tiny = page->size_class < MW_TINY_CLASSES;
	bool fast = mw_harden_has_fast_paths() &&
		    (tiny ? !mw_outbox_is_mixed(heap, page->size_class) : pushes);
	uintptr_t owner = tiny || !MW_HARDEN_ON ? heap->owner : heap->owner | MW_OWNER_STACK;
	mw_entry_t *entry = mw_page_entry(page);
	entry->list = tiny ? &page->list : mw_stack_of(page->size_class);
	if (!tiny)
		mw_harden_start_stack(entry->list, page->block_bytes);
	atomic_store_explicit(&entry->owner, fast ? owner : MW_OWNER_DIVERT, memory_order_relaxed);
}

MW_NOINLINE void mw_page_divert(mw_page_t *page) {
	atomic_store_explicit(&mw_page_entry(page)->owner, MW_OWNER_DIVERT, memory_order_relaxed);
}

void mw_heap_page_claim(mw_heap_t *heap, mw_page_t *page) {
	claim(heap, page, mw_thread.quick_heap != NULL);
}

void mw_heap_pages_claim(mw_heap_t *heap) {
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		for (mw_page_t *page = heap->queues[c].first; page; page = page->next)
			claim(heap, page, true);
	/* Of the full ones free() has a fast path to those above tiny. */
	for (mw_page_t *page = heap->full.first; page; page = page->next)
		if (page->size_class >= MW_TINY_CLASSES)
			claim(heap, page, true);
}

void mw_heap_pages_divert(mw_heap_t *heap, unsigned from_class) {
	for (unsigned c = from_class; c < MW_CLASS_COUNT; c++)
		for (mw_page_t *page = heap->queues[c].first; page; page = page->next)
			mw_page_divert(page);
	for (mw_page_t *page = heap->full.first; page; page = page->next)
		mw_page_divert(page);
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
	mw_harden_start_page(page);
}

static mw_page_t *make_run(mw_heap_t *heap, unsigned size_class) {
	unsigned slices = mw_class_run_slices[size_class];
	mw_page_t *run = mw_chunk_take(slices, 1);
	if (!run)
		return NULL;
	for (unsigned i = slices; i-- > 0;) {
		init_page(run, i, size_class);
		mw_heap_page_claim(heap, &run[i]);
		mw_queue_prepend(&heap->queues[size_class], &run[i]);
	}
	heap->pages += slices;
	mw_tally_add(&mw_tally.pages[size_class], slices);
	if (heap->pages_most < heap->pages)
		heap->pages_most = heap->pages;
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
	if (!list) { /* purged for us: see inbox.c */
		if (count != page->capacity || page->free)
			mw_heap_page_corrupt(page);
		page->used = page->carved = 0;
		return;
	}
	/* Only a list that comes before another must be walked: each block would be a cache miss.
	 */
	if (page->free)
		mw_link_set(last_of(page, list, count), page->free);
	page->free = list;
	page->used -= count;
}

void mw_heap_page_collect(mw_page_t *page) {
	uint64_t word = mw_remote_take(page, 0);
	mw_heap_page_put_back(page, mw_remote_list(word), mw_remote_count(word));
}

/* Blocks up to number `end` are about to be linked in a page whose memory is fresh. */
static void populate(const mw_heap_t *heap, const mw_page_t *page, uint32_t end) {
	size_t step = heap->pages < POPULATE_ALL_PAGES ? POPULATE_BYTES : MW_SLICE_BYTES;
	size_t here = mw_round_up((size_t)page->carved * page->block_bytes, step);
	size_t there = mw_round_up((size_t)end * page->block_bytes, step);
	if (there > here)
		mw_os_prefault(page->start + here, there - here);
}

/* Before what is free already.  Returns how many. */
static uint32_t carve(mw_heap_t *heap, mw_page_t *page) {
	if (MW_UNLIKELY(page->holes != 0)) {
		uint32_t linked = mw_holes_link(heap, page);
		if (linked > 0)
			return linked;
	}
	uint32_t room = page->capacity - page->carved;
	uint32_t count = CARVE_BYTES / page->block_bytes;
	if (count == 0)
		count = 1;
	if (count > room)
		count = room;
	if (MW_UNLIKELY(heap->pages >= POPULATE_PAGES) && page->zeroed &&
	    page->block_bytes <= POPULATE_BLOCK_BYTES)
		populate(heap, page, page->carved + count);
	if (count > 0)
		page->free = mw_harden_carve(page, page->carved, count, page->free);
	page->carved += count;
	return count;
}

uint32_t mw_heap_page_prepare(mw_heap_t *heap, mw_page_t *page) {
	if (page->spare) {
		page->spare = false;
		heap->spares--;
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

static bool has_blocks(mw_page_t *page) {
	if (page->free || mw_harden_aged(page) || page->carved < page->capacity)
		return true;
	mw_heap_page_collect(page);
	return page->free != NULL;
}

/* Out of the queue until a block comes back.  False: one came meanwhile.
 *
 * FULL stays set in the inbox when the page is queued again, so that a page that goes in and out of
 * its queue costs one atomic operation in its life, not two a turn.  A push that finds it set in a
 * queued page announces the page for nothing. */
static bool set_full(mw_heap_t *heap, mw_page_t *page) {
	uint64_t word = atomic_load_explicit(&page->remote, memory_order_relaxed);
	/* Pairs with mw_remote_push(): a push either finds FULL, or makes this fail.  A page that
	 * is PENDING will be in the pending list, and be queued again from there. */
	do {
		if (mw_remote_count(word) > 0)
			return false;
	} while (!(word & (MW_REMOTE_FULL | MW_REMOTE_PENDING)) &&
		 !atomic_compare_exchange_weak_explicit(&page->remote, &word, MW_REMOTE_FULL,
							memory_order_acq_rel,
							memory_order_relaxed));
	mw_queue_remove(&heap->queues[page->size_class], page);
	mw_queue_append(&heap->full, page);
	page->state = MW_PAGE_FULL;
	/* Above tiny free() does not look at the page. */
	if (page->size_class < MW_TINY_CLASSES)
		mw_page_divert(page);
	return true;
}

void mw_heap_page_unfull(mw_heap_t *heap, mw_page_t *page) {
	MW_ASSERT(page->state == MW_PAGE_FULL);
	mw_queue_remove(&heap->full, page);
	mw_queue_append(&heap->queues[page->size_class], page);
	page->state = MW_PAGE_QUEUED;
	mw_heap_page_claim(heap, page);
}

void mw_heap_page_put(mw_heap_t *heap, mw_page_t *page, void *block) {
	mw_link_set(block, page->free);
	page->free = block;
	page->used--;
	if (page->state == MW_PAGE_FULL)
		mw_heap_page_unfull(heap, page);
	if (page->used == 0)
		mw_heap_page_emptied(page);
}

void mw_heap_take_pending(mw_heap_t *heap) {
	if (!atomic_load_explicit(&heap->pending, memory_order_relaxed))
		return;
	/* Pairs with the push in inbox.c. */
	mw_page_t *page = atomic_exchange_explicit(&heap->pending, NULL, memory_order_acquire);
	atomic_store_explicit(&heap->backlog, 0, memory_order_relaxed);
	if (MW_UNLIKELY(atomic_load_explicit(&heap->purged_ns, memory_order_relaxed) != 0))
		mw_inbox_came_back(heap);
	while (page) {
		mw_page_t *next = page->pending_next;
		uint64_t word = atomic_fetch_and_explicit(&page->remote, ~MW_REMOTE_PENDING,
							  memory_order_relaxed);
		/* A queued page's inbox is emptied when its free list is used up: joining the two
		 * would be a cache miss a block. */
		if (page->state == MW_PAGE_FULL || mw_remote_count(word) == page->used)
			mw_heap_page_collect(page);
		if (page->state == MW_PAGE_FULL)
			mw_heap_page_unfull(heap, page);
		if (page->used == 0)
			mw_heap_page_emptied(page);
		page = next;
	}
}

/* What waits in list heads keeps pages from being given back, and so does the rule that the last
 * page of a class stays.  A heap that is about to be larger than ever gives them a chance, so that
 * neither adds to its peak.  Tiny heads, which are long, while they are a large part of it.
 * Outboxes of large heaps alone: at home only the page's owner finds the blocks, and while it lives
 * on others' lists it does not look; who sent them, and has no other, carves new ones. */
static void make_way(mw_heap_t *heap) {
	if (heap->pages >= TINY_FLUSH_PAGES)
		mw_outbox_flush(heap, false);
	for (unsigned c = heap->pages < TINY_FLUSH_PAGES ? 0 : MW_TINY_CLASSES; c < MW_CLASS_COUNT;
	     c++)
		if (*mw_head_of(c))
			mw_heap_head_flush(heap, c);
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		mw_page_t *page = heap->queues[c].first;
		while (page && page->used == 0 && mw_heap_page_release(heap, page))
			page = heap->queues[c].first;
	}
}

static void make_way_at_peak(mw_heap_t *heap) {
	bool grew = heap->pages > heap->made_way_pages;
	if (!grew && heap->finds < MAKE_WAY_FINDS)
		return;
	heap->made_way_pages = heap->pages;
	heap->finds = 0;
	make_way(heap);
}

mw_page_t *mw_heap_page_find(mw_heap_t *heap, unsigned size_class) {
	mw_heap_take_pending(heap);
	heap->finds++;
	mw_page_queue_t *queue = &heap->queues[size_class];
	while (queue->first) {
		mw_page_t *page = queue->first;
		if (has_blocks(page) || !set_full(heap, page))
			return page;
	}
	if (mw_park_is_due())
		mw_heap_end_parked();
	mw_page_t *page;
	while ((page = mw_orphan_take(size_class)) != NULL) {
		page->state = MW_PAGE_QUEUED;
		mw_heap_page_claim(heap, page);
		mw_queue_prepend(queue, page);
		heap->pages++;
		if (MW_UNLIKELY(page->holes != 0))
			mw_holes_came(heap, page);
		mw_tally_add(&mw_tally.adopted[size_class], 1);
		if (has_blocks(page) || !set_full(heap, page))
			return page;
	}
	/* More memory is needed: others may wait for theirs as well. */
	if (heap->pages >= heap->pages_most)
		make_way_at_peak(heap);
	if (MW_UNLIKELY(mw_holes_are_due(heap)))
		mw_holes_make_at_peak(heap);
	return make_run(heap, size_class);
}

bool mw_heap_page_release(mw_heap_t *heap, mw_page_t *page) {
	MW_ASSERT(page->used == 0);
	/* FULL alone means nothing here: no block is out that could be pushed. */
	if (atomic_load_explicit(&page->remote, memory_order_relaxed) & ~MW_REMOTE_FULL)
		return false;
	mw_queue_remove(page->state == MW_PAGE_FULL ? &heap->full : &heap->queues[page->size_class],
			page);
	heap->spares -= page->spare;
	heap->pages--;
	if (MW_UNLIKELY(page->holes != 0))
		mw_holes_went(heap, page);
	mw_orphan_give(page);
	return true;
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
	if (page->block_bytes >= SPARE_BLOCK_BYTES && heap->spares < SPARES_MAX) {
		page->spare = true;
		heap->spares++;
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
	if (!list)
		return;
	mw_tally_add(&mw_tally.flushes[size_class], 1);
	heap->counts.given[size_class] -= count;
	while (list) {
		void *block = list;
		list = mw_link_get(block);
		/* Blocks of several pages, some of them other threads': see free.c. */
		mw_page_t *page = mw_page_of_slice((uintptr_t)block);
		if (atomic_load_explicit(&page->heap, memory_order_relaxed) != heap) {
			mw_outbox_leave(heap, page, block);
			continue;
		}
		mw_heap_page_put(heap, page, block);
	}
	if (size_class < MW_TINY_CLASSES)
		mw_sampling_dropped(heap, size_class, count);
}
