/* SPDX-License-Identifier: MIT
 * free_blocks.c -- follows the lists. A list ends at a block that is not live any more: a thread
 * may have been stopped while it changed the list. */
#include "leak/free_blocks.h"

#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/remote_word.h"
#include "heap/layout/size_class.h"
#include "heap/local/harden_lists.h"
#include "heap/local/heap.h"
#include "heap/thread/thread.h"
#include "leak/block_index.h"
#include "os/process/child.h"

/* Returns false if the address is not the start of a live block. */
static bool mark_free(const void *address, mw_leak_block_t *block) {
	if (!mw_leak_index_find((uintptr_t)address, block) || block->start != (uintptr_t)address ||
	    !mw_leak_bit(MW_LEAK_LIVE, block->bit))
		return false;
	mw_leak_bit_clear(MW_LEAK_LIVE, block->bit);
	return true;
}

static void mark_list(const void *first) {
	mw_leak_block_t block;
	for (const void *at = first; at && mark_free(at, &block); at = mw_link_peek(at))
		;
}

static void mark_page(const mw_page_t *page) {
	if (page->kind != MW_PAGE_SMALL)
		return;
	mark_list(page->free);
	mark_list(mw_harden_aged(page));
	mark_list(mw_remote_list(mw_remote_word(page)));
}

static void mark_heap(const mw_heap_t *heap) {
	for (unsigned i = 0; i < MW_REMOTE_BATCHES; i++)
		if (heap->remote.batches[i].place != 0)
			mark_list(heap->remote.batches[i].first);
	for (unsigned c = 0; c <= MW_TINY_CLASSES; c++)
		mark_list(heap->remote.bins[c].first);
	/* The lists of an ended thread, or of one that stopped while it moved its lists. */
	for (unsigned c = 0; c < MW_TINY_CLASSES; c++)
		mark_list(heap->inherited[c].first);
	for (unsigned i = 0; i < MW_ABOVE_TINY_CLASSES; i++)
		mark_list(heap->cached.tcache[i].first);
#ifdef MW_HARDENED
	mw_leak_block_t block;
	for (unsigned i = 0; i < MW_QUARANTINE_PLACES; i++)
		mark_free(heap->harden.quarantine[i], &block);
#endif
}

void mw_leak_free_blocks(void) {
	mw_leak_index_visit_pages(mark_page);
	for (const mw_heap_t *heap = mw_heap_newest(); heap; heap = heap->next_all) {
		mark_heap(heap);
		/* The thread of a heap in use may not have answered. */
		if (heap->in_use && !heap->cached.waits && heap->owner != MW_OWNER_DIVERT)
			mw_leak_free_blocks_of_thread(heap->owner);
	}
}

void mw_leak_free_blocks_of_thread(uintptr_t thread_pointer) {
	mw_thread_t thread;
	uintptr_t offset = (uintptr_t)&mw_thread - (uintptr_t)__builtin_thread_pointer();
	if (mw_os_copy_memory(&thread, thread_pointer + offset, sizeof thread) != sizeof thread ||
	    !thread.heap)
		return;
	for (unsigned c = 0; c < MW_TINY_CLASSES; c++)
		mark_list(thread.tcache_tiny[c]);
	for (unsigned i = 0; i < MW_ABOVE_TINY_CLASSES; i++)
		mark_list(thread.tcache[i].first);
}
