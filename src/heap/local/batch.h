/* SPDX-License-Identifier: MIT
 * batch.h -- the remote-free cache of a thread, and its fast path.
 * Layer: heap.  Owner thread only.  heap/remote/remote.h describes the mechanism. */
#ifndef MW_HEAP_REMOTE_BATCH_H
#define MW_HEAP_REMOTE_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/check.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/size_class.h"

/* Batches of a thread.  Each slice of a chunk has one place in the table. */
#define MW_REMOTE_BATCHES 64u

/* Blocks of one page that the thread freed and has not sent to the page yet. */
typedef struct mw_remote_batch {
	uintptr_t place;    /* mw_remote_place() of the page; 0: the batch is empty */
	void *first, *last; /* linked; the block freed last comes first */
	int32_t room;       /* blocks that still fit; -1: the last try found no room */
	uint32_t limit;     /* blocks that fit into an empty batch */
} mw_remote_batch_t;
_Static_assert(sizeof(mw_remote_batch_t) == 2 * sizeof(mw_entry_t), "mw_remote_add() scales by it");

/* Blocks of one class, of other threads' pages, that the thread's next refill of the class takes. A
 * list with its room: see mw_list_t. */
typedef mw_list_t mw_remote_bin_t;

/* Least block size with a bin.  Smaller blocks share their cache lines with blocks that other
 * threads use: two processors would write to one line by turns. */
#define MW_REMOTE_BIN_LEAST_BYTES MW_CACHE_LINE_BYTES

/* The remote-free cache of a thread. */
typedef struct mw_remote_cache {
	mw_remote_batch_t batches[MW_REMOTE_BATCHES];
	/* Indexed by mw_chunk_class(); bin 0 never has room. */
	mw_remote_bin_t bins[1 + MW_TINY_CLASSES];
} mw_remote_cache_t;

/* The cache of a thread without a heap: no batch matches, and no bin has room.  Never written. */
extern mw_remote_cache_t mw_remote_no_cache;

/* Returns a number that identifies a page: the address of the page's entry minus the offset of its
 * chunk's entries, which free() has in a register. */
static inline uintptr_t mw_remote_place(const mw_page_t *page) {
	return (uintptr_t)mw_page_entry(page) - MW_CHUNK_ENTRIES_OFFSET;
}

/* The page of a batch that is not empty. */
static inline mw_page_t *mw_remote_batch_page(const mw_remote_batch_t *batch) {
	return mw_entry_page((const mw_entry_t *)(batch->place + MW_CHUNK_ENTRIES_OFFSET));
}

/* Adds a block to the bin of its class.  False: the bin has no room, or the block is the one added
 * last; nothing was done. */
MW_ALWAYS_INLINE bool mw_remote_keep(mw_remote_bin_t *bin, void *block) {
	void *first = bin->first;
	int32_t room = bin->room;
	if (MW_UNLIKELY(room <= 0) || MW_UNLIKELY(first == block))
		return false;
	bin->room = room - 1;
	mw_link_set(block, first);
	bin->first = block;
	return true;
}

/* Adds a block to the batch of its page, or to the bin of its class if the page has no batch.  The
 * page's entry lies `offset` bytes into the table of the chunk.  False, and nothing was done: there
 * is no room, the block is the one added last, or the page is a full one that the thread is to take
 * back. */
MW_ALWAYS_INLINE bool mw_remote_add(mw_remote_cache_t *cache, uintptr_t chunk, uintptr_t offset,
				    void *block) {
	enum { MASK = (MW_REMOTE_BATCHES - 1) << MW_ENTRY_SHIFT };
	uintptr_t place = chunk + offset;
	mw_remote_batch_t *batch =
		(mw_remote_batch_t *)(void *)((char *)cache->batches + 2 * (offset & MASK));
	if (batch->place != place) {
		uintptr_t own_full = (uintptr_t)__builtin_thread_pointer() | MW_OWNER_FULL;
		mw_entry_t *entry = (mw_entry_t *)(place + MW_CHUNK_ENTRIES_OFFSET);
		if (atomic_load_explicit(&entry->owner, memory_order_relaxed) == own_full)
			return false;
		uint8_t bin = *mw_chunk_class(chunk, (uintptr_t)block);
		MW_ASSERT(bin <= MW_TINY_CLASSES);
		return mw_remote_keep(&cache->bins[bin], block);
	}
	void *first = batch->first;
	if (MW_UNLIKELY(first == block) || MW_UNLIKELY(--batch->room < 0))
		return false;
	mw_link_set(block, first);
	batch->first = block;
	return true;
}

#endif
