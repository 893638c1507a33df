/* SPDX-License-Identifier: MIT
 * thread.c -- the list of heaps: a thread gets one and gives it up; fork. */
#include "heap/thread/thread.h"

#include <string.h>

#include "heap/arena/arena.h"
#include "heap/large/huge.h"
#include "heap/layout/harden_block.h"
#include "heap/layout/page.h"
#include "heap/layout/size_class.h"
#include "heap/local/counts.h"
#include "heap/local/harden_lists.h"
#include "heap/local/heap.h"
#include "heap/local/tcache.h"
#include "heap/memory/background.h"
#include "heap/memory/chunk.h"
#include "heap/memory/limit.h"
#include "heap/memory/meta.h"
#include "heap/misuse/guarded.h"
#include "heap/remote/abandoned.h"
#include "heap/remote/ownership.h"
#include "heap/remote/remote.h"
#include "heap/sample/hooks.h"
#include "heap/sample/sampled.h"
#include "heap/sample/sampling.h"
#include "heap/sample/slot_cache.h"
#include "heap/thread/cached_heap.h"
#include "heap/thread/flush.h"
#include "heap/thread/shed.h"
#include "os/lock/lock.h"
#include "os/time/clock.h"
#include "state/stats.h"

void (*mw_heap_on_thread)(mw_heap_t *heap);

static struct {
	mw_lock_t lock;
	mw_heap_t *all;
	mw_heap_t *free; /* heaps of ended threads that are not cached */
	size_t count, live;
	uintptr_t first_pointer; /* thread pointer of the first thread with a heap: the program's
				    first thread */
} heaps;

/* Under the lock: returns a heap without a page; NULL: no memory. */
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
	memset(heap->until_sample_tiny, 0, sizeof heap->until_sample_tiny);
	heap->in_use = true;
	return heap;
}

static MW_NOINLINE mw_heap_t *make_heap(void) {
	mw_lock_acquire(&heaps.lock, MW_RANK_HEAPS);
	mw_heap_t *cached = mw_cached_heap_take(), *heap = cached ? cached : bare_heap();
	heaps.live += heap != NULL;
	if (heaps.first_pointer == 0)
		heaps.first_pointer = (uintptr_t)__builtin_thread_pointer();
	mw_harden_start();
	mw_lock_release(&heaps.lock, MW_RANK_HEAPS);
	if (!heap)
		return NULL;
	heap->owner = (uintptr_t)__builtin_thread_pointer();
	heap->rate_taken = false;
	mw_harden_start_thread(&heap->harden);
	if (cached)
		mw_cached_heap_resume(heap);
	else
		mw_tcache_configure(heap);
	mw_sampling_thread_start(heap);
	mw_thread.heap = heap;
	mw_thread_set_quick_heap(heap);
	mw_heap_counts_begin(heap);
	if (mw_heap_on_thread && !mw_thread.ended)
		mw_heap_on_thread(heap);
	return heap;
}

mw_heap_t *mw_heap_self(void) {
	mw_heap_t *heap = mw_thread.heap;
	return MW_LIKELY(heap != NULL) ? heap : make_heap();
}

static void put_away(mw_heap_t *heap, bool cached) {
	mw_thread.heap = NULL;
	mw_thread_set_quick_heap(NULL);
	for (unsigned i = 0; i < MW_ABOVE_TINY_CLASSES; i++) {
		mw_heap_counts_given(heap, MW_TINY_CLASSES + i);
		heap->counts.objects[i] -= mw_thread.until_sample[i];
		mw_thread.until_sample[i] = 0;
	}
	memset(mw_thread.tcache, 0, sizeof mw_thread.tcache);
	mw_lock_acquire(&heaps.lock, MW_RANK_HEAPS);
	if (cached) {
		mw_cached_heap_put(heap);
	} else {
		heap->in_use = false;
		heap->next_free = heaps.free;
		heaps.free = heap;
	}
	heaps.live--;
	mw_lock_release(&heaps.lock, MW_RANK_HEAPS);
	if (cached)
		mw_background_notify();
}

void mw_heap_thread_end(void) {
	mw_heap_t *heap = mw_thread.heap;
	mw_thread.ended = true;
	if (!heap)
		return;
	mw_harden_flush(&heap->harden);
	mw_slot_cache_unload(heap);
	mw_remote_flush(heap);
	mw_heap_give_reserved(heap);
	bool cached = mw_cached_heap_begin(heap);
	if (cached)
		mw_cached_heap_save(heap);
	else
		mw_heap_abandon_all(heap);
	put_away(heap, cached);
}

static mw_heap_t *take_cached(bool due_only) {
	mw_lock_acquire(&heaps.lock, MW_RANK_HEAPS);
	mw_heap_t *heap = mw_cached_heap_take_oldest(due_only);
	heaps.live += heap != NULL;
	mw_lock_release(&heaps.lock, MW_RANK_HEAPS);
	return heap;
}

/* The calling thread ends cached heaps in place of their threads. */
void mw_heap_abandon_cached(bool due_only) {
	mw_heap_t *heap = take_cached(due_only);
	if (!heap)
		return;
	mw_thread_t own = mw_thread;
	do {
		memset(&mw_thread, 0, sizeof mw_thread);
		mw_thread.heap = heap;
		mw_thread_set_quick_heap(heap);
		heap->owner = (uintptr_t)__builtin_thread_pointer();
		mw_cached_heap_resume(heap);
		mw_heap_abandon_all(heap);
		put_away(heap, false);
		heap = take_cached(due_only);
	} while (heap);
	mw_thread = own;
}

void mw_heap_take_rate(void) {
	mw_heap_t *heap = mw_thread.heap;
	if (!heap)
		return;
	heap->rate_taken = true;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		mw_heap_head_flush(heap, c);
}

mw_lock_t *mw_heap_threads_lock(void) {
	return &heaps.lock;
}

const mw_heap_t *mw_heap_newest(void) {
	return heaps.all;
}

mw_heap_numbers_t mw_heap_numbers(void) {
	mw_lock_acquire(&heaps.lock, MW_RANK_HEAPS);
	mw_heap_numbers_t numbers = {heaps.count, heaps.live};
	mw_lock_release(&heaps.lock, MW_RANK_HEAPS);
	return numbers;
}

void mw_heap_count_threads(uint32_t *all, uint32_t *behind) {
	uint32_t generation = atomic_load_explicit(&mw_heap_rate_generation, memory_order_relaxed);
	*all = *behind = 0;
	mw_lock_acquire(&heaps.lock, MW_RANK_HEAPS);
	for (mw_heap_t *heap = heaps.all; heap; heap = heap->next_all) {
		bool in_use = heap->in_use && !heap->cached.waits;
		*all += in_use;
		*behind += in_use && atomic_load_explicit(&heap->rate_generation,
							  memory_order_relaxed) != generation;
	}
	mw_lock_release(&heaps.lock, MW_RANK_HEAPS);
}

void mw_heap_visit_threads(void (*visit)(uintptr_t start, uintptr_t limit, unsigned kind)) {
	mw_lock_acquire(&heaps.lock, MW_RANK_HEAPS);
	for (mw_heap_t *heap = heaps.all; heap; heap = heap->next_all) {
		uintptr_t pointer = heap->owner;
		if (heap->in_use && !heap->cached.waits && pointer != MW_OWNER_DIVERT &&
		    pointer != heaps.first_pointer)
			visit(pointer, pointer + 1, MW_RANGE_THREAD);
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
			/* Relaxed: the owner goes on counting. */
			to[i] += __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	}
	mw_lock_release(&heaps.lock, MW_RANK_HEAPS);
}

/* In rising rank, so that no thread that holds one of the locks waits for another meanwhile. */
void mw_heap_fork_prepare(void) {
	mw_arena_fork_begin();
	mw_sampled_fork_prepare();
	mw_lock_fork_acquire(&heaps.lock);
	mw_abandoned_fork_prepare();
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
	mw_abandoned_fork_release(in_child);
	mw_lock_fork_release(&heaps.lock, in_child);
	mw_sampled_fork_release(in_child);
}

void mw_heap_fork_parent(void) {
	fork_release(false);
}

void mw_heap_fork_child(void) {
	/* The other threads do not exist in the child; their heaps stay in_use. */
	heaps.live = mw_thread.heap != NULL;
	mw_cached_heap_fork_child();
	mw_background_fork_child();
	mw_limit_fork_child();
	fork_release(true);
}
