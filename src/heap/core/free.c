/* SPDX-License-Identifier: MIT
 * free.c -- the slow paths of free(). */
#include "heap/core/free.h"

#include <stdatomic.h>
#include <string.h>

#include "base/check.h"
#include "heap/arena/arena.h"
#include "heap/core/alloc.h"
#include "heap/core/arena_blocks.h"
#include "heap/core/fast.h"
#include "heap/core/large.h"
#include "heap/core/lookup.h"
#include "heap/core/resize.h"
#include "heap/large/huge.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/queue.h"
#include "heap/layout/record.h"
#include "heap/layout/size_class.h"
#include "heap/local/counts.h"
#include "heap/local/heap.h"
#include "heap/local/holes.h"
#include "heap/misuse/guarded.h"
#include "heap/misuse/misuse.h"
#include "heap/remote/ownership.h"
#include "heap/remote/remote.h"
#include "heap/sample/sampled.h"
#include "heap/sample/sampling.h"
#include "heap/sample/slot_cache.h"
#include "heap/thread/thread.h"

/* A thread without a heap gets one after so many frees of other threads' blocks: then it sends them
 * in batches, with one atomic operation for each batch instead of one for each block.  A thread
 * that frees only a few blocks needs no heap. */
#define HEAPLESS_FREES 64u

/* Puts a block above tiny, of any thread's page, into its tcache list.  False: the list is full. */
static bool push_above_tiny(mw_heap_t *heap, const mw_page_t *page, void *block) {
	mw_list_t *list = mw_tcache_of(page->size_class);
	if (MW_UNLIKELY(list->first == block))
		mw_misuse_free_again(page, block);
	if (MW_UNLIKELY(list->room <= 1)) {
		heap->overflowed |= (uint64_t)1 << page->size_class;
		return false;
	}
	list->room--;
	mw_link_set(block, list->first);
	list->first = block;
	return true;
}

static void free_own(mw_heap_t *heap, mw_page_t *page, void *block) {
	if (MW_UNLIKELY(page->free == block))
		mw_misuse_free_again(page, block);
	if (page->size_class >= MW_TINY_CLASSES && push_above_tiny(heap, page, block))
		return;
	mw_heap_page_put(page, block);
}

/* Returns the heap of a thread that only frees; NULL: it has none yet.  A thread that frees after
 * its end, in another library's destructor, would keep the heap. */
static MW_NOINLINE mw_heap_t *heap_of_consumer(void) {
	if (mw_thread.ended || ++mw_thread.heapless_frees < HEAPLESS_FREES)
		return NULL;
	mw_thread.heapless_frees = 0;
	return mw_heap_self();
}

static void free_in_page(mw_page_t *page, void *block) {
	if (MW_UNLIKELY(!mw_page_holds(page, block)))
		mw_misuse_misaligned(mw_misuse_function(), block, page);
	mw_heap_t *heap = mw_thread.heap;
	if (MW_UNLIKELY(!heap))
		heap = heap_of_consumer();
	/* Blocks of the hardened library come here from the quarantine, and were counted when they
	 * entered the quarantine. */
	if (!MW_HARDEN_ON && MW_UNLIKELY(!mw_thread.quick_heap) && heap)
		mw_heap_counts_freed(heap, page->block_bytes);
	if (heap && atomic_load_explicit(&page->heap, memory_order_relaxed) == heap)
		free_own(heap, page, block);
	else if (!heap || page->size_class < MW_TINY_CLASSES || !push_above_tiny(heap, page, block))
		mw_remote_free(heap, page, block);
}

static void count_freed(size_t usable_bytes) {
	mw_heap_t *heap = mw_thread.heap;
	if (!heap)
		return;
	heap->counts.large_freed_bytes += usable_bytes;
	heap->counts.freed_bytes += usable_bytes;
}

static MW_NOINLINE void count_sampled(size_t bytes) {
	mw_heap_t *heap = mw_thread.heap;
	if (!heap)
		return;
	heap->counts.sampled_freed_bytes += bytes;
	heap->counts.freed_bytes += bytes;
	mw_holes_sample_freed(heap);
}

static MW_NOINLINE void free_sampled(mw_page_t *page, void *block) {
	mw_arena_t *arena = mw_chunk_of(page)->arena;
	if (MW_UNLIKELY(arena != NULL) && mw_arena_lists_give(page, block))
		return;
	uint32_t bytes;
	mw_record_id_t record = mw_slot_cache_give(arena, page, block, &bytes);
	if (MW_UNLIKELY(arena != NULL))
		count_freed(bytes);
	else
		count_sampled(bytes);
	if (record)
		mw_sampling_freed(record);
}

static MW_NOINLINE void free_special(mw_page_t *page, void *block) {
	switch ((mw_page_kind_t)page->kind) {
	case MW_PAGE_SAMPLED:
		free_sampled(page, block);
		return;
	case MW_PAGE_LARGE:
		mw_large_free(page, block);
		return;
	case MW_PAGE_NONE:
	case MW_PAGE_SMALL:
	case MW_PAGE_INTERIOR:
	case MW_PAGE_FREED:
		mw_misuse_dead(mw_misuse_function(), block, page);
	}
}

static mw_record_id_t give_guarded(void *block) {
	size_t class_bytes;
	mw_record_id_t record = mw_guarded_give(block, &class_bytes);
	count_sampled(class_bytes);
	return record;
}

void mw_heap_free_slow(void *block) {
	unsigned where = mw_word_kind((uintptr_t)block);
	if (MW_UNLIKELY(where == MW_MAP_FOREIGN)) {
		if (!block)
			return;
		mw_misuse_foreign(mw_misuse_function(), block);
	}
	if (MW_UNLIKELY(where != MW_MAP_CHUNK)) {
		mw_record_id_t record =
			where == MW_MAP_HUGE ? mw_large_free_huge(block) : give_guarded(block);
		if (record)
			mw_sampling_freed(record);
		return;
	}
	mw_page_t *page = mw_page_of_slice((uintptr_t)block);
	if (mw_page_slice_index(page) == 0)
		mw_misuse_foreign(mw_misuse_function(), block);
	if (MW_LIKELY(page->kind == MW_PAGE_SMALL)) {
		free_in_page(page, block);
		return;
	}
	free_special(mw_page_first(page), block);
}

void mw_heap_free_last(void *block, mw_list_t *list) {
	/* A page's list lies in the first slice of its blocks' chunk.  A tcache list never
	 * does, even if the thread's stack is a block. */
	if ((uintptr_t)list - (uintptr_t)mw_chunk_of(block) >= MW_SLICE_BYTES) {
		mw_heap_free_over(block, list);
		return;
	}
	mw_page_t *page = (mw_page_t *)((char *)list - offsetof(mw_page_t, list));
	if (MW_UNLIKELY(page->used != 0)) /* no block of the page was in use */
		mw_misuse_free_again(page, block);
	/* In most cases the page is the last of its class, and stays. */
	mw_heap_t *heap = atomic_load_explicit(&page->heap, memory_order_relaxed);
	mw_page_queue_t *queue = &heap->queues[page->size_class];
	if (queue->first != queue->last)
		mw_heap_page_emptied(page);
}

void mw_heap_free_over(void *block, mw_list_t *list) {
	list->first = mw_link_get(block);
	list->room++;
	mw_heap_free_slow(block);
}

/* ---- blocks that wait ---- */

static _Atomic size_t waiting_bytes;

static MW_COLD mw_record_id_t take_large_record(void *block) {
	mw_record_id_t record = 0;
	mw_huge_block_t huge;
	if (mw_word_kind((uintptr_t)block) == MW_MAP_CHUNK) {
		mw_page_t *page = mw_lookup_page(mw_misuse_function(), block);
		if (page->kind == MW_PAGE_LARGE) {
			record = page->large_record;
			page->large_record = 0;
		}
	} else if (mw_huge_find(block, &huge) && huge.record) {
		record = huge.record;
		mw_huge_set_record(block, 0);
	}
	return record;
}

MW_COLD void mw_heap_set_waiting(void *block, bool waits) {
	unsigned where = mw_word_kind((uintptr_t)block);
	mw_record_id_t record = 0;
	if (where != MW_MAP_CHUNK && where != MW_MAP_HUGE)
		return;
	mw_page_t *page =
		where == MW_MAP_CHUNK ? mw_lookup_page(mw_misuse_function(), block) : NULL;
	if (page && page->kind == MW_PAGE_SAMPLED) {
		record = mw_sampled_set_waiting(page, block, waits);
	} else {
		size_t bytes = mw_lookup_bytes(mw_misuse_function(), block);
		record = waits ? take_large_record(block) : 0;
		/* Relaxed: a statistic. */
		atomic_fetch_add_explicit(&waiting_bytes, waits ? bytes : 0 - bytes,
					  memory_order_relaxed);
	}
	if (record)
		mw_sampling_freed(record);
}

MW_COLD size_t mw_heap_waiting_bytes(void) {
	return atomic_load_explicit(&waiting_bytes, memory_order_relaxed);
}

/* A block keeps its place while it shrinks to half (resize.c).  So a small claimed size is wrong
 * only if no resizing leads to it. */
static bool is_wrong_size(size_t capacity, size_t align, size_t bytes) {
	if (bytes > capacity)
		return true;
	if (capacity <= MW_SMALL_MAX_BYTES && bytes >= capacity / 2)
		return false;
	return mw_heap_bytes_for(align, bytes) != capacity &&
	       !__atomic_load_n(&mw_heap_blocks_stayed, __ATOMIC_RELAXED);
}

/* The claim is compared with the block's size class wherever the block lies, so that samples are no
 * exception. */
static MW_COLD void check_claim(const char *function, const void *block, size_t bytes,
				size_t align) {
	size_t capacity = mw_word_kind((uintptr_t)block) == MW_MAP_GUARDED
				  ? mw_guarded_class_bytes(function, block)
				  : mw_lookup_bytes(function, block);
	if (align == MW_NO_CLAIM)
		align = MW_BLOCK_ALIGN;
	else if ((uintptr_t)block & (align - 1))
		mw_misuse_align(function, block, align, capacity);
	if (is_wrong_size(capacity, align, bytes))
		mw_misuse_size(function, block, bytes, capacity, MW_NO_CLAIM);
}

void mw_heap_free_claimed(void *block, size_t bytes, size_t align, const char *function) {
	if (!block)
		return;
	mw_thread.function = function;
	if (MW_LIKELY(mw_misuse_on_claim == MW_MISUSE_IGNORE)) {
		mw_heap_free_slow(block);
	} else {
		/* All blocks come here (src/api/alloc.h). */
		if (bytes != MW_NO_CLAIM)
			check_claim(function, block, bytes, align);
		mw_fast_free(block);
	}
	mw_thread.function = NULL;
}
