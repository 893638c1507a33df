/* SPDX-License-Identifier: MIT
 * inbox.c -- sending blocks home, and who hears of it. */
#include "heap/inbox.h"

#include "base/bits.h"
#include "heap/heap_page.h"
#include "heap/misuse.h"
#include "heap/orphan.h"
#include "heap/remote.h"
#include "os/clock.h"
#include "os/map.h"
#include "os/proc.h"

/* The inbox of a full page got its first blocks: its heap must hear of it.  PENDING keeps the page
 * with that heap until it has. */
static void notify_heap(mw_page_t *page) {
	mw_heap_t *heap = atomic_load_explicit(&page->heap, memory_order_relaxed);
	mw_page_t *first = atomic_load_explicit(&heap->pending, memory_order_relaxed);
	do {
		page->pending_next = first;
		/* Pairs with the exchange in mw_heap_take_pending(); stronger than release for the
		 * look at the heap that follows. */
	} while (!atomic_compare_exchange_weak_explicit(
		&heap->pending, &first, page, memory_order_seq_cst, memory_order_relaxed));
	atomic_fetch_add_explicit(&heap->backlog, 1, memory_order_relaxed);
	mw_heap_settle(heap);
}

static uint64_t push(mw_page_t *page, void *first, void *last, uint32_t count) {
	/* Read before the push: afterwards the page may be anybody's. */
	unsigned size_class = page->size_class;
	uint64_t old = mw_remote_push(page, first, last, count);
	if (old & MW_REMOTE_FULL)
		notify_heap(page);
	else if ((old & MW_REMOTE_ORPHAN) &&
		 mw_remote_count(old) + count == __atomic_load_n(&page->used, __ATOMIC_RELAXED))
		mw_orphan_reclaim(page, size_class);
	return old;
}

/* The owner has not looked at its pages for a while: it sleeps, as the thread does that made a
 * server's tables.  Only it can give the page's slice back; their memory others can. */
static bool owner_is_behind(const mw_page_t *page) {
	mw_heap_t *heap = atomic_load_explicit(&page->heap, memory_order_relaxed);
	return heap && atomic_load_explicit(&heap->backlog, memory_order_relaxed) >=
			       atomic_load_explicit(&heap->backlog_most, memory_order_relaxed);
}

/* Relaxed, here and in purge_claimed(): these say how much is purged, not what. */
void mw_inbox_came_back(mw_heap_t *heap) {
	uint64_t purged_ns = atomic_exchange_explicit(&heap->purged_ns, 0, memory_order_relaxed);
	uint32_t most = atomic_load_explicit(&heap->backlog_most, memory_order_relaxed);
	if (mw_os_monotonic_coarse_ns() - purged_ns > MW_BACKLOG_NAP_NS)
		most = MW_BACKLOG_LEAST;
	else if (most < MW_BACKLOG_MOST)
		most *= 2;
	atomic_store_explicit(&heap->backlog_most, most, memory_order_relaxed);
}

/* Threads between the claim of a page and its return; FORKING: no more may begin.  A child that
 * came over in between would never see the page's blocks again. */
#define FORKING ((uint32_t)1 << 31)
static _Atomic uint32_t claims;

void mw_inbox_fork_prepare(void) {
	/* Acquire: pairs with end_claim(). */
	atomic_fetch_or_explicit(&claims, FORKING, memory_order_acquire);
	for (unsigned turn = 0; atomic_load_explicit(&claims, memory_order_acquire) & ~FORKING;
	     turn++)
		mw_os_wait_turn(turn);
}

void mw_inbox_fork_release(void) {
	atomic_fetch_and_explicit(&claims, ~FORKING, memory_order_release);
}

static void end_claim(void) {
	atomic_fetch_sub_explicit(&claims, 1, memory_order_release);
}

/* False: a fork is about to happen. */
static bool begin_claim(void) {
	/* Pairs with mw_inbox_fork_prepare(): either it sees this one, or this sees FORKING. */
	if (!(atomic_fetch_add_explicit(&claims, 1, memory_order_acq_rel) & FORKING))
		return true;
	end_claim();
	return false;
}

/* `word` is the inbox as this thread left it. */
static void purge_claimed(mw_page_t *page, uint64_t word) {
	if (!mw_remote_claim(page, word))
		return;
	uint32_t count = mw_remote_count(word);
	/* Another page came to have the same word: give back what was taken. */
	if (MW_UNLIKELY(count != page->capacity)) {
		void *first = mw_remote_list(word), *last = first;
		while (mw_link_get(last))
			last = mw_link_get(last);
		push(page, first, last, count);
		return;
	}
	uintptr_t start = mw_round_up((uintptr_t)page->start, MW_OS_PAGE_BYTES);
	uintptr_t end = (uintptr_t)page->start + (size_t)count * page->block_bytes;
	end &= ~((uintptr_t)MW_OS_PAGE_BYTES - 1);
	mw_heap_t *heap = atomic_load_explicit(&page->heap, memory_order_relaxed);
	if (heap)
		atomic_store_explicit(&heap->purged_ns, mw_os_monotonic_coarse_ns(),
				      memory_order_relaxed);
	if (start < end)
		mw_os_purge((void *)start, end - start);
	push(page, NULL, NULL, count);
}

static MW_NOINLINE void purge_for_owner(mw_page_t *page, uint64_t word) {
	if (!owner_is_behind(page) || !begin_claim())
		return;
	purge_claimed(page, word);
	end_claim();
}

void mw_inbox_send(mw_page_t *page, void *first, void *last, uint32_t count) {
	uint32_t capacity = page->capacity;
	uint64_t old = push(page, first, last, count);
	if (MW_UNLIKELY(mw_remote_count(old) + count == capacity))
		purge_for_owner(page, mw_remote_added(old, first, count));
}

void mw_inbox_send_one(mw_page_t *page, void *block) {
	uint64_t word = atomic_load_explicit(&page->remote, memory_order_relaxed);
	if (MW_UNLIKELY(mw_remote_list(word) == block))
		mw_misuse_free_again(page, block);
	mw_inbox_send(page, block, block, 1);
}
