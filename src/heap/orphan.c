/* SPDX-License-Identifier: MIT
 * orphan.c -- pages of ended threads. */
#include "heap/orphan.h"

#include "base/check.h"
#include "heap/chunk.h"
#include "heap/queue.h"
#include "heap/remote.h"
#include "heap/size_class.h"
#include "os/lock.h"
#include "os/numa.h"

/* Orphans looked at for one on the own node: a cache miss each, under the lock. */
#define NEAR_MAX 16u

typedef struct orphans {
	mw_lock_t lock;
	mw_page_queue_t pages;
	_Atomic size_t
		count; /* read without the lock: a look that costs nothing when there are none */
} orphans_t;

static MW_SPARSE orphans_t orphans_of_class[MW_CLASS_COUNT];

void mw_orphan_add(mw_page_t *page) {
	unsigned size_class = page->size_class;
	orphans_t *orphans = &orphans_of_class[size_class];
	mw_lock_acquire(&orphans->lock, MW_RANK_ORPHANS);
	atomic_store_explicit(&page->heap, NULL, memory_order_relaxed);
	mw_page_divert(page);
	page->state = MW_PAGE_ORPHAN;
	mw_queue_append(&orphans->pages, page);
	atomic_fetch_add_explicit(&orphans->count, 1, memory_order_relaxed);
	/* From here on (release: the fields above) the push that brings the last block frees the
	 * page. FULL goes: there is nobody to tell. */
	uint64_t old = atomic_load_explicit(&page->remote, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&page->remote, &old,
						      (old & ~MW_REMOTE_FULL) | MW_REMOTE_ORPHAN,
						      memory_order_acq_rel, memory_order_relaxed))
		;
	MW_ASSERT(!(old & MW_REMOTE_PENDING));
	/* Under the lock: afterwards somebody may have adopted it. */
	bool all_back = mw_remote_count(old) == page->used;
	mw_lock_release(&orphans->lock, MW_RANK_ORPHANS);
	if (all_back)
		mw_orphan_reclaim(page, size_class);
}

static void unlink_orphan(orphans_t *orphans, mw_page_t *page) {
	mw_queue_remove(&orphans->pages, page);
	atomic_fetch_sub_explicit(&orphans->count, 1, memory_order_relaxed);
	page->state = MW_PAGE_LOOSE;
}

/* Of a run: as if it was never used, and last to be adopted. */
static void add_idle(orphans_t *orphans, mw_page_t *page) {
	atomic_store_explicit(&page->heap, NULL, memory_order_relaxed);
	mw_page_divert(page);
	/* Relaxed: with no block out nobody pushes, and the lock orders the rest. */
	atomic_store_explicit(&page->remote, 0, memory_order_relaxed);
	page->free = NULL;
	mw_harden_forget_aged(page);
	page->used = page->carved = 0;
	page->spare = false;
	page->state = MW_PAGE_ORPHAN;
	mw_queue_append(&orphans->pages, page);
	atomic_fetch_add_explicit(&orphans->count, 1, memory_order_relaxed);
}

void mw_orphan_give(mw_page_t *page) {
	unsigned size_class = page->size_class;
	mw_page_t *run = mw_page_run(page);
	if (run->slice_count > 1) {
		orphans_t *orphans = &orphans_of_class[size_class];
		mw_lock_acquire(&orphans->lock, MW_RANK_ORPHANS);
		add_idle(orphans, page);
		bool all_idle = ++run->run_idle == run->slice_count;
		for (unsigned i = 0; all_idle && i < run->slice_count; i++)
			unlink_orphan(orphans, &run[i]);
		mw_lock_release(&orphans->lock, MW_RANK_ORPHANS);
		if (!all_idle)
			return;
	}
	mw_chunk_give(run, MW_PAGE_NONE);
}

/* Of the first pages one whose memory is on this thread's node, else the first. */
static mw_page_t *near_page(mw_page_t *first) {
	unsigned node = mw_os_numa_here(), looked_at = 0;
	if (node == MW_OS_NUMA_ANY)
		return first;
	for (mw_page_t *page = first; page && looked_at++ < NEAR_MAX; page = page->next)
		if (mw_chunk_of(page)->node == node)
			return page;
	return first;
}

mw_page_t *mw_orphan_take(unsigned size_class) {
	orphans_t *orphans = &orphans_of_class[size_class];
	if (atomic_load_explicit(&orphans->count, memory_order_relaxed) == 0)
		return NULL;
	mw_lock_acquire(&orphans->lock, MW_RANK_ORPHANS);
	mw_page_t *page = near_page(orphans->pages.first);
	if (page) {
		unlink_orphan(orphans, page);
		if (page->used == 0)
			mw_page_run(page)->run_idle--;
		/* The flag only: the inbox is the adopter's to empty. */
		atomic_fetch_and_explicit(&page->remote, ~MW_REMOTE_ORPHAN, memory_order_acq_rel);
	}
	mw_lock_release(&orphans->lock, MW_RANK_ORPHANS);
	return page;
}

void mw_orphan_reclaim(mw_page_t *page, unsigned size_class) {
	orphans_t *orphans = &orphans_of_class[size_class];
	mw_lock_acquire(&orphans->lock, MW_RANK_ORPHANS);
	/* Meanwhile it may have been adopted, freed, made into something else: only what the lock
	 * of this class protects counts. */
	bool ours = page->kind == MW_PAGE_SMALL && page->state == MW_PAGE_ORPHAN &&
		    page->size_class == size_class && page->used > 0;
	uint64_t word = atomic_load_explicit(&page->remote, memory_order_acquire);
	bool release = ours && mw_remote_count(word) == page->used;
	if (release)
		unlink_orphan(orphans, page);
	mw_lock_release(&orphans->lock, MW_RANK_ORPHANS);
	if (release)
		mw_orphan_give(page);
}

size_t mw_orphan_count(void) {
	size_t total = 0;
	for (unsigned i = 0; i < MW_CLASS_COUNT; i++)
		total += atomic_load_explicit(&orphans_of_class[i].count, memory_order_relaxed);
	return total;
}

mw_lock_t *mw_orphan_lock(unsigned size_class) {
	return &orphans_of_class[size_class].lock;
}

void mw_orphan_fork_prepare(void) {
	for (unsigned i = 0; i < MW_CLASS_COUNT; i++)
		mw_lock_fork_acquire(&orphans_of_class[i].lock);
}

void mw_orphan_fork_release(bool in_child) {
	for (unsigned i = 0; i < MW_CLASS_COUNT; i++)
		mw_lock_fork_release(&orphans_of_class[i].lock, in_child);
}
