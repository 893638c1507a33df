/* SPDX-License-Identifier: MIT
 * abandoned.c -- the lists of pages without a thread. */
#include "heap/remote/abandoned.h"

#include "base/check.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/queue.h"
#include "heap/layout/remote_word.h"
#include "heap/layout/size_class.h"
#include "heap/local/harden_lists.h"
#include "heap/local/heap.h"
#include "heap/local/heap_page.h"
#include "heap/memory/chunk.h"
#include "os/memory/numa.h"

/* Pages searched for one on the thread's own node: each is a cache miss, under the lock. */
#define NEAR_MAX 16u

typedef struct abandoned {
	mw_lock_t lock;
	mw_page_queue_t pages;
	/* Pages in the list; read without the lock, as a hint. */
	_Atomic size_t count;
} abandoned_t;

static MW_SPARSE abandoned_t abandoned_of_class[MW_CLASS_COUNT];

/* A full page remembers the thread that had it last.  A page above tiny keeps the owner word:
 * free() pushes blocks of any page onto the thread's list, see claim() in heap_page.c. */
static void mark_full(mw_page_t *page) {
	if (page->size_class >= MW_TINY_CLASSES)
		return;
	mw_heap_t *heap = mw_thread.quick_heap;
	bool own = heap && atomic_load_explicit(&page->last_heap, memory_order_relaxed) == heap;
	atomic_store_explicit(&mw_page_entry(page)->owner,
			      own ? heap->owner | MW_OWNER_FULL : MW_OWNER_DIVERT,
			      memory_order_relaxed);
}

/* No thread owns the page from now on, or as soon as its flags are set. */
static void disown(mw_page_t *page, mw_page_state_t state) {
	atomic_store_explicit(&page->heap, NULL, memory_order_relaxed);
	if (state == MW_PAGE_FULL && !MW_HARDEN_ON)
		mark_full(page);
	else
		mw_page_divert(page);
	page->state = (uint8_t)state;
	page->used_at_abandon = page->used;
}

/* Under the lock. */
static void link_page(abandoned_t *abandoned, mw_page_t *page) {
	disown(page, MW_PAGE_ABANDONED);
	mw_queue_append(&abandoned->pages, page);
	atomic_fetch_add_explicit(&abandoned->count, 1, memory_order_relaxed);
}

static void unlink_page(abandoned_t *abandoned, mw_page_t *page) {
	mw_queue_remove(&abandoned->pages, page);
	atomic_fetch_sub_explicit(&abandoned->count, 1, memory_order_relaxed);
	page->state = MW_PAGE_LOOSE;
}

bool mw_abandoned_abandon_full(mw_page_t *page) {
	/* Checked first: if a block came back, nothing has to be undone. */
	if (mw_remote_word(page) != 0)
		return false;
	disown(page, MW_PAGE_FULL);
	return mw_remote_abandon_full(page);
}

/* Puts the page into its class's list.  False: all of its blocks are back. */
static bool list_page(mw_page_t *page) {
	abandoned_t *abandoned = &abandoned_of_class[page->size_class];
	mw_lock_acquire(&abandoned->lock, MW_RANK_ABANDONED);
	link_page(abandoned, page);
	bool listed = mw_remote_abandon_listed(page, page->used);
	if (!listed)
		unlink_page(abandoned, page);
	mw_lock_release(&abandoned->lock, MW_RANK_ABANDONED);
	return listed;
}

void mw_abandoned_add(mw_page_t *page) {
	for (;;) {
		/* The delayed list is taken only where it matters: each block in it is a cache
		 * miss. */
		if (!mw_heap_page_has_room(page) ||
		    mw_remote_count(mw_remote_word(page)) == page->used)
			mw_heap_page_collect(page);
		if (page->used == 0)
			break;
		bool full = !mw_heap_page_has_room(page);
		if (full ? mw_abandoned_abandon_full(page) : list_page(page))
			return;
	}
	mw_abandoned_give(page);
}

void mw_abandoned_end(mw_page_t *page) {
	abandoned_t *abandoned = &abandoned_of_class[page->size_class];
	mw_lock_acquire(&abandoned->lock, MW_RANK_ABANDONED);
	unlink_page(abandoned, page);
	mw_lock_release(&abandoned->lock, MW_RANK_ABANDONED);
	/* No thread reads the blocks again. In this order: a leak check, which may stop the thread
	 * between the two, knows that they are free. */
	page->used = 0;
	atomic_signal_fence(memory_order_release);
	atomic_store_explicit(&page->remote, 0, memory_order_relaxed);
	mw_abandoned_give(page);
}

/* Under the lock: a page of a run becomes as if it was never used, and the last one to be taken. */
static void link_idle(abandoned_t *abandoned, mw_page_t *page) {
	page->free = NULL;
	mw_harden_forget_aged(page);
	page->used = page->carved = 0;
	page->is_retained = false;
	link_page(abandoned, page);
	/* No block is in use, so no thread can push one. */
	mw_remote_abandon_listed(page, 0);
}

void mw_abandoned_give(mw_page_t *page) {
	MW_ASSERT(page->used == 0);
	mw_heap_count_page(NULL, page);
	mw_page_t *run = mw_page_run(page);
	if (run->slice_count > 1) {
		abandoned_t *abandoned = &abandoned_of_class[page->size_class];
		mw_lock_acquire(&abandoned->lock, MW_RANK_ABANDONED);
		link_idle(abandoned, page);
		bool all_idle = ++run->run_idle == run->slice_count;
		for (unsigned i = 0; all_idle && i < run->slice_count; i++)
			unlink_page(abandoned, &run[i]);
		mw_lock_release(&abandoned->lock, MW_RANK_ABANDONED);
		if (!all_idle)
			return;
	}
	mw_chunk_give(run, MW_PAGE_NONE);
}

/* Under the lock: makes the calling thread the owner of one of the first pages, if possible of one
 * whose memory is on this thread's node. */
static mw_page_t *claim_near(mw_page_t *first) {
	unsigned node = mw_os_numa_here(), looked_at = 0;
	if (node != MW_OS_NUMA_ANY)
		for (mw_page_t *page = first; page && looked_at++ < NEAR_MAX; page = page->next)
			if (mw_chunk_of(page)->node == node && mw_remote_take_listed(page))
				return page;
	for (mw_page_t *page = first; page; page = page->next)
		if (mw_remote_take_listed(page))
			return page;
	return NULL;
}

mw_page_t *mw_abandoned_take(unsigned size_class) {
	abandoned_t *abandoned = &abandoned_of_class[size_class];
	if (atomic_load_explicit(&abandoned->count, memory_order_relaxed) == 0)
		return NULL;
	mw_lock_acquire(&abandoned->lock, MW_RANK_ABANDONED);
	mw_page_t *page = claim_near(abandoned->pages.first);
	if (page) {
		unlink_page(abandoned, page);
		if (page->used == 0)
			mw_page_run(page)->run_idle--;
	}
	mw_lock_release(&abandoned->lock, MW_RANK_ABANDONED);
	return page;
}

size_t mw_abandoned_count(void) {
	size_t total = 0;
	for (unsigned i = 0; i < MW_CLASS_COUNT; i++)
		total += atomic_load_explicit(&abandoned_of_class[i].count, memory_order_relaxed);
	return total;
}

mw_lock_t *mw_abandoned_lock(unsigned size_class) {
	return &abandoned_of_class[size_class].lock;
}

void mw_abandoned_fork_prepare(void) {
	for (unsigned i = 0; i < MW_CLASS_COUNT; i++)
		mw_lock_fork_acquire(&abandoned_of_class[i].lock);
}

void mw_abandoned_fork_release(bool in_child) {
	for (unsigned i = 0; i < MW_CLASS_COUNT; i++) {
		/* Threads that brought the last block back and waited for the lock do not exist in
		 * the child. */
		if (in_child)
			for (mw_page_t *page = abandoned_of_class[i].pages.first; page;
			     page = page->next)
				atomic_fetch_or_explicit(&page->remote, MW_REMOTE_FLAGS,
							 memory_order_relaxed);
		mw_lock_fork_release(&abandoned_of_class[i].lock, in_child);
	}
}
