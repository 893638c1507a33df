/* SPDX-License-Identifier: MIT
 * thread.c -- heaps and threads: who gets one, what becomes of it, and fork. */
#include <string.h>

#include "heap/arena.h"
#include "heap/background.h"
#include "heap/chunk.h"
#include "heap/guarded.h"
#include "heap/head.h"
#include "heap/heap.h"
#include "heap/heap_page.h"
#include "heap/holes.h"
#include "heap/huge.h"
#include "heap/inbox.h"
#include "heap/leave.h"
#include "heap/limit.h"
#include "heap/magazine.h"
#include "heap/meta.h"
#include "heap/orphan.h"
#include "heap/outbox.h"
#include "heap/park.h"
#include "heap/sampled.h"
#include "heap/sampling.h"
#include "heap/stats.h"
#include "os/lock.h"

MW_TLS mw_thread_t mw_thread;
void (*mw_heap_on_thread)(mw_heap_t *heap);

static struct {
	mw_lock_t lock;
	mw_heap_t *all;
	mw_heap_t *free; /* of ended threads */
	size_t count, live;
} heaps;

/* Under the lock.  One that has nothing; NULL: no memory. */
static mw_heap_t *bare_heap(void) {
	mw_heap_t *heap = heaps.free;
	if (heap) {
		heaps.free = heap->next_free;
	} else {
		heap = mw_meta_alloc(sizeof *heap);
		if (!heap)
			return NULL;
		heap->next_all = heaps.all;
		heaps.all = heap;
		heaps.count++;
	}
	heap->cut = 0;
	memset(heap->left, 0, sizeof heap->left);
	/* The lock orders it: see mw_heap_settle(). */
	atomic_store_explicit(&heap->in_use, true, memory_order_relaxed);
	return heap;
}

static MW_NOINLINE mw_heap_t *make_heap(void) {
	mw_lock_acquire(&heaps.lock, MW_RANK_HEAPS);
	mw_heap_t *parked = mw_park_take(), *heap = parked ? parked : bare_heap();
	heaps.live += heap != NULL;
	mw_harden_start();
	mw_lock_release(&heaps.lock, MW_RANK_HEAPS);
	if (!heap)
		return NULL;
	heap->owner = (uintptr_t)__builtin_thread_pointer();
	heap->rate_taken = false;
	mw_harden_start_thread(&heap->harden);
	mw_head_configure(heap);
	if (parked)
		mw_park_resume(heap);
	mw_outbox_start(heap);
	atomic_store_explicit(&heap->backlog_most, MW_BACKLOG_LEAST, memory_order_relaxed);
	atomic_store_explicit(&heap->purged_ns, 0, memory_order_relaxed);
	mw_sampling_thread_start(heap);
	mw_thread.heap = mw_thread.quick_heap = heap;
	mw_heap_counts_begin(heap, parked ? heap->parked.tiny_heads_bytes : 0);
	if (mw_heap_on_thread && !mw_thread.ended)
		mw_heap_on_thread(heap);
	return heap;
}

mw_heap_t *mw_heap_self(void) {
	mw_heap_t *heap = mw_thread.heap;
	return MW_LIKELY(heap != NULL) ? heap : make_heap();
}

void mw_heap_settle(mw_heap_t *heap) {
	/* Sequentially consistent, as the push before it, and as the end of the heap's thread below
	 * with its look at the list: one of the two sees what the other did. */
	if (MW_LIKELY(atomic_load_explicit(&heap->in_use, memory_order_seq_cst)))
		return;
	mw_lock_acquire(&heaps.lock, MW_RANK_HEAPS);
	/* A thread that has got it meanwhile finds the list itself. */
	if (!atomic_load_explicit(&heap->in_use, memory_order_relaxed))
		mw_leave_pending(heap);
	mw_lock_release(&heaps.lock, MW_RANK_HEAPS);
}

static void put_away(mw_heap_t *heap, bool parked) {
	mw_thread.heap = mw_thread.quick_heap = NULL;
	for (unsigned i = 0; i < MW_STACK_CLASSES; i++) {
		mw_heap_counts_given(heap, MW_TINY_CLASSES + i);
		heap->counts.objects[i] -= mw_thread.until_sample[i];
		mw_thread.until_sample[i] = 0;
	}
	memset(mw_thread.stacks, 0, sizeof mw_thread.stacks);
	mw_lock_acquire(&heaps.lock, MW_RANK_HEAPS);
	if (parked) {
		mw_park_put(heap);
	} else {
		/* Pairs with mw_heap_settle(). */
		atomic_store_explicit(&heap->in_use, false, memory_order_seq_cst);
		mw_leave_pending(heap);
		heap->next_free = heaps.free;
		heaps.free = heap;
	}
	heaps.live--;
	mw_lock_release(&heaps.lock, MW_RANK_HEAPS);
	if (parked)
		mw_background_notify();
}

void mw_heap_thread_end(void) {
	mw_heap_t *heap = mw_thread.heap;
	mw_thread.ended = true;
	if (!heap)
		return;
	mw_harden_flush(&heap->harden);
	mw_magazine_unload(heap);
	bool parked = mw_park_begin(heap);
	if (parked) {
		mw_outbox_hand_on(heap);
		mw_park_save(heap);
	} else {
		mw_leave_all(heap);
	}
	put_away(heap, parked);
}

static mw_heap_t *take_parked(bool due_only) {
	mw_lock_acquire(&heaps.lock, MW_RANK_HEAPS);
	mw_heap_t *heap = mw_park_take_oldest(due_only);
	heaps.live += heap != NULL;
	mw_lock_release(&heaps.lock, MW_RANK_HEAPS);
	return heap;
}

/* The calling thread ends parked heaps in the place of their threads. */
static void abandon_parked(bool due_only) {
	mw_heap_t *heap = take_parked(due_only);
	if (!heap)
		return;
	mw_thread_t own = mw_thread;
	do {
		memset(&mw_thread, 0, sizeof mw_thread);
		mw_thread.heap = mw_thread.quick_heap = heap;
		heap->owner = (uintptr_t)__builtin_thread_pointer();
		mw_park_resume(heap);
		mw_leave_all(heap);
		put_away(heap, false);
		heap = take_parked(due_only);
	} while (heap);
	mw_thread = own;
}

void mw_heap_end_parked(void) {
	abandon_parked(true);
}

void mw_heap_take_rate(void) {
	mw_heap_t *heap = mw_thread.heap;
	if (!heap)
		return;
	heap->rate_taken = true;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		mw_heap_head_flush(heap, c);
}

static void release_pages(mw_heap_t *heap) {
	mw_heap_take_pending(heap);
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		mw_page_t *next;
		for (mw_page_t *page = heap->queues[c].first; page; page = next) {
			next = page->next;
			mw_heap_page_collect(page);
			if (page->used == 0)
				mw_heap_page_release(heap, page);
		}
	}
}

size_t mw_heap_trim(void) {
	mw_heap_t *heap = mw_thread.heap;
	if (heap) {
		mw_harden_flush(&heap->harden);
		mw_magazine_unload(heap);
		for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
			mw_heap_head_flush(heap, c); /* some of it into outboxes, or on shelves */
		mw_outbox_flush(heap, true);
	}
	abandon_parked(false);
	mw_outbox_clear_shelves(heap);
	size_t holes_bytes = 0;
	if (heap) {
		release_pages(heap);
		holes_bytes = mw_holes_make(heap, true);
	}
	return holes_bytes + mw_huge_purge(true) + mw_chunk_purge(true) + mw_arena_purge_each(true);
}

void mw_heap_stats(uint64_t stats[MW_STAT_COUNT]) {
	mw_chunk_stats_t chunk;
	mw_huge_stats_t huge;
	mw_chunk_stats(&chunk);
	mw_huge_stats(&huge);
	mw_arena_totals_t arenas = mw_arena_totals();
	mw_limit_stats_t limit;
	mw_limit_stats(&limit);
	stats[MW_STAT_mapped_bytes] = chunk.chunks * MW_CHUNK_BYTES + huge.live_bytes +
				      huge.cached_bytes + arenas.mapped_bytes;
	stats[MW_STAT_in_use_bytes] = chunk.in_use_bytes + huge.live_bytes + arenas.in_use_bytes;
	stats[MW_STAT_dirty_bytes] = chunk.dirty_bytes + chunk.muzzy_bytes + arenas.dirty_bytes;
	stats[MW_STAT_purged_bytes] =
		chunk.purged_bytes + arenas.purged_bytes + mw_holes_purged_bytes();
	stats[MW_STAT_huge_bytes] = huge.live_bytes;
	stats[MW_STAT_huge_blocks] = huge.blocks;
	stats[MW_STAT_huge_cached_bytes] = huge.cached_bytes;
	stats[MW_STAT_metadata_bytes] = mw_meta_bytes();
	stats[MW_STAT_chunks] = chunk.chunks;
	stats[MW_STAT_orphan_pages] = mw_orphan_count();
	stats[MW_STAT_page_takes] = chunk.page_takes;
	stats[MW_STAT_soft_limit_bytes] = limit.soft_bytes;
	stats[MW_STAT_hard_limit_bytes] = limit.hard_bytes;
	stats[MW_STAT_soft_limit_passes] = limit.soft_passes;
	stats[MW_STAT_hard_limit_refusals] = limit.hard_refusals;
	mw_guarded_stats_t guarded = mw_guarded_stats();
	stats[MW_STAT_guarded_blocks] = guarded.live;
	stats[MW_STAT_guarded_taken] = guarded.taken;
	mw_lock_acquire(&heaps.lock, MW_RANK_HEAPS);
	stats[MW_STAT_heaps] = heaps.count;
	stats[MW_STAT_live_threads] = heaps.live;
	mw_lock_release(&heaps.lock, MW_RANK_HEAPS);
}

mw_lock_t *mw_heap_threads_lock(void) {
	return &heaps.lock;
}

void mw_heap_count_threads(uint32_t *all, uint32_t *behind) {
	uint32_t epoch = atomic_load_explicit(&mw_heap_epoch, memory_order_relaxed);
	*all = *behind = 0;
	mw_lock_acquire(&heaps.lock, MW_RANK_HEAPS);
	for (mw_heap_t *heap = heaps.all; heap; heap = heap->next_all) {
		bool in_use = atomic_load_explicit(&heap->in_use, memory_order_relaxed) &&
			      !heap->parked.waits;
		*all += in_use;
		*behind +=
			in_use && atomic_load_explicit(&heap->epoch, memory_order_relaxed) != epoch;
	}
	mw_lock_release(&heaps.lock, MW_RANK_HEAPS);
}

void mw_heap_sum_counts(mw_heap_counts_t *sum) {
	uint64_t *to = (uint64_t *)(void *)sum;
	for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
		to[i] = 0;
	if (mw_thread.heap)
		for (unsigned c = MW_TINY_CLASSES; c < MW_CLASS_COUNT; c++)
			mw_heap_counts_given(mw_thread.heap, c);
	mw_lock_acquire(&heaps.lock, MW_RANK_HEAPS);
	for (mw_heap_t *heap = heaps.all; heap; heap = heap->next_all) {
		const uint64_t *from = (const uint64_t *)(const void *)&heap->counts;
		for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
			/* Relaxed: the owner counts on. */
			to[i] += __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	}
	mw_lock_release(&heaps.lock, MW_RANK_HEAPS);
}

size_t mw_heap_in_use_bytes(void) {
	return mw_chunk_in_use_bytes() + mw_huge_live_bytes() + mw_arena_in_use_bytes();
}

/* In rising rank, so that no thread that holds one of them waits for another meanwhile. */
void mw_heap_fork_prepare(void) {
	mw_sampled_fork_prepare();
	/* One fork at a time from here on; before the locks that what it waits for may need. */
	mw_inbox_fork_prepare();
	mw_lock_fork_acquire(&heaps.lock);
	mw_orphan_fork_prepare();
	mw_huge_fork_prepare();
	mw_chunk_fork_prepare();
	mw_meta_fork_prepare();
	mw_guarded_fork_prepare();
	mw_arena_fork_prepare();
}

static void fork_release(bool in_child) {
	mw_arena_fork_release(in_child);
	mw_guarded_fork_release(in_child);
	mw_meta_fork_release(in_child);
	mw_chunk_fork_release(in_child);
	mw_huge_fork_release(in_child);
	mw_orphan_fork_release(in_child);
	mw_lock_fork_release(&heaps.lock, in_child);
	mw_inbox_fork_release();
	mw_sampled_fork_release(in_child);
}

void mw_heap_fork_parent(void) {
	fork_release(false);
}

void mw_heap_fork_child(void) {
	/* The others did not come over; what they own stays in_use. */
	heaps.live = mw_thread.heap != NULL;
	mw_park_fork_child();
	mw_background_fork_child();
	mw_limit_fork_child();
	fork_release(true);
}
