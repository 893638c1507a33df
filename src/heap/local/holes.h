/* SPDX-License-Identifier: MIT
 * holes.h -- gives the kernel the memory between the live blocks of a page.
 * Layer: heap.  Owner thread only.
 *
 * One live block keeps its page's slice.  A hole is a kernel page of the slice that has no used
 * byte and was given back.  Free blocks that begin there are in no list, as if they were never
 * carved (page->carved is less by them).  They are linked again before any part of the page that
 * was never used (doc/adr/0022-purged-holes.md). */
#ifndef MW_HEAP_HOLES_H
#define MW_HEAP_HOLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/layout/counters.h"
#include "heap/layout/page.h"
#include "heap/local/heap.h"
#include "os/memory/map.h"

#define MW_SLICE_KERNEL_PAGES (MW_SLICE_BYTES / MW_OS_PAGE_BYTES)

/* Makes holes in the heap's queued pages.  Returns the bytes that the kernel took. */
MW_COLD size_t mw_holes_make(mw_heap_t *heap);
/* Makes holes in pages with few used blocks, if they have much memory that the program did not soon
 * need again. */
MW_COLD void mw_holes_poll(mw_heap_t *heap);
/* Called when the thread freed a sampled block.  Samples tell without a counter on the fast paths
 * that a heap has become small in pages that a few live blocks keep. */
static inline void mw_holes_sample_freed(mw_heap_t *heap) {
	heap->holes.samples--;
	if (heap->holes.frees_to_go-- == 0)
		mw_holes_poll(heap);
}
/* Links the blocks of the page's first holes, before those that are free.  Returns how many; 0: no
 * block begins in the holes that were left. */
MW_COLD uint32_t mw_holes_link(mw_heap_t *heap, mw_page_t *page);
/* Returns whether the block, of a page of one slice, begins in a hole. */
bool mw_holes_hold(const mw_page_t *page, const void *block);
/* Bytes that the kernel took so far, of all heaps. */
static inline size_t mw_holes_purged_bytes(void) {
	return mw_counters_read(&mw_counters.hole_kernel_pages) * MW_OS_PAGE_BYTES;
}

#endif
