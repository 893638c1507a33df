/* SPDX-License-Identifier: MIT
 * batch.h -- the remote-free cache of a thread, and its fast path: see heap/remote/remote.h.
 * Layer: heap. */
#ifndef MW_HEAP_REMOTE_BATCH_H
#define MW_HEAP_REMOTE_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "heap/layout/link.h"
#include "heap/layout/page.h"

/* Batches a thread has.  Each slice of a chunk has one place in the table. */
#define MW_REMOTE_BATCHES 64u

/* Blocks of one page that the thread freed and has not sent to the page yet. */
typedef struct mw_remote_batch {
	const mw_entry_t *entry; /* of the page; NULL: the batch is empty */
	void *first, *last;      /* linked; the block freed last comes first */
	int32_t room;            /* blocks that still fit; -1: the last try found no room */
	uint32_t limit;          /* blocks that fit into an empty batch */
} mw_remote_batch_t;
_Static_assert(sizeof(mw_remote_batch_t) == 2 * sizeof(mw_entry_t), "mw_remote_add() scales by it");

/* Blocks of one class, of pages of other threads, that the thread's next refill of the class takes.
 * A list with its room: see mw_list_t. */
typedef mw_list_t mw_remote_bin_t;

/* Blocks of a cache line or more have a bin.  Smaller ones share their lines with blocks that other
 * threads use: two processors would write to one line in turns. */
#define MW_REMOTE_BIN_LEAST_BYTES MW_CACHE_LINE_BYTES

/* The remote-free cache of a thread. */
typedef struct mw_remote_cache {
	mw_remote_batch_t batches[MW_REMOTE_BATCHES];
	/* By mw_chunk_class(): number 0 never has room. */
	mw_remote_bin_t bins[1 + MW_TINY_CLASSES];
} mw_remote_cache_t;

/* That of a thread without a heap: no entry matches, no bin has room.  Never written. */
extern mw_remote_cache_t mw_remote_no_cache;

/* Adds a block to the bin of its class.  False: there is no room, or the block is the one that came
 * last; nothing was done. */
MW_ALWAYS_INLINE bool mw_remote_keep(mw_remote_bin_t *bin, void *block) {
	void *first = bin->first;
	int32_t room = bin->left;
	if (MW_UNLIKELY(room <= 0) || MW_UNLIKELY(first == block))
		return false;
	bin->left = room - 1;
	mw_link_set(block, first);
	bin->first = block;
	return true;
}

/* Adds a block to the batch of its page, or to the bin of its class if the page has no batch.  The
 * page's entry lies `offset` bytes into the table of the chunk.  False: there is no room, the block
 * is the one that came last, or the page is a full one that the thread is to take back; nothing was
 * done. */
MW_ALWAYS_INLINE bool mw_remote_add(mw_remote_cache_t *cache, uintptr_t chunk, uintptr_t offset,
				    void *block) {
	enum { MASK = (MW_REMOTE_BATCHES - 1) << MW_ENTRY_SHIFT };
	const mw_entry_t *entry = (const mw_entry_t *)(chunk + offset + MW_CHUNK_ENTRIES_OFFSET);
	mw_remote_batch_t *batch =
		(mw_remote_batch_t *)(void *)((char *)cache->batches + 2 * (offset & MASK));
	if (batch->entry != entry) {
		uintptr_t own_full = (uintptr_t)__builtin_thread_pointer() | MW_OWNER_FULL;
		if (atomic_load_explicit(&((mw_entry_t *)(uintptr_t)entry)->owner,
					 memory_order_relaxed) == own_full)
			return false;
		return mw_remote_keep(&cache->bins[*mw_chunk_class(chunk, (uintptr_t)block)],
				      block);
	}
	void *first = batch->first;
	if (MW_UNLIKELY(first == block) || MW_UNLIKELY(--batch->room < 0))
		return false;
	mw_link_set(block, first);
	batch->first = block;
	return true;
}

#endif
