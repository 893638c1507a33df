/* SPDX-License-Identifier: MIT
 * holes.h -- gives the kernel what lies between the live blocks of a page.
 * Layer: heap.  Owner thread only.
 *
 * One block that lives on keeps its page's slice.  A hole is one of the slice's kernel pages in
 * which every byte is free and that was given back: free blocks that begin there are in no list, as
 * if they were never carved (page->carved is less by them), and linked again before any part of the
 * page that was never used (doc/adr/0022-holes-in-pages.md). */
#ifndef MW_HEAP_HOLES_H
#define MW_HEAP_HOLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/heap.h"
#include "heap/tally.h"
#include "os/map.h"

/* Of smaller heaps holes are not worth the walk: 16 MiB. */
#define MW_HOLES_HEAP_PAGES 256u
#define MW_SLICE_KERNEL_PAGES (MW_SLICE_BYTES / MW_OS_PAGE_BYTES)

/* The kernel pages behind the heap's pages, but for its holes. */
static inline uint32_t mw_holes_rest(const mw_heap_t *heap) {
	return heap->pages * (uint32_t)MW_SLICE_KERNEL_PAGES - heap->holes;
}

/* A heap that is about to have an eighth more memory than when it last did looks for holes first.
 */
static inline bool mw_holes_are_due(const mw_heap_t *heap) {
	return heap->pages >= MW_HOLES_HEAP_PAGES && mw_holes_rest(heap) >= heap->holes_due;
}

/* Makes holes in the heap's queued pages; `all`: whatever it costs.  Returns the bytes that the
 * kernel took. */
MW_COLD size_t mw_holes_make(mw_heap_t *heap, bool all);
/* The same where they are due, but not in a process that has just begun (MW_DECAY_YOUTH_NS): most
 * of those end before it pays. */
MW_COLD void mw_holes_make_at_peak(mw_heap_t *heap);
/* Links blocks of the page's first holes, before what is free.  Returns how many; 0: no hole was
 * left in which a block begins. */
MW_COLD uint32_t mw_holes_link(mw_heap_t *heap, mw_page_t *page);
/* A page with holes comes to the heap, or leaves it. */
MW_COLD void mw_holes_came(mw_heap_t *heap, const mw_page_t *page);
MW_COLD void mw_holes_went(mw_heap_t *heap, const mw_page_t *page);
/* Does the block, of a page of one slice, begin in a hole? */
bool mw_holes_hold(const mw_page_t *page, const void *block);
/* Bytes that the kernel took so far, from all heaps. */
static inline size_t mw_holes_purged_bytes(void) {
	return mw_tally_read(&mw_tally.hole_kernel_pages) * MW_OS_PAGE_BYTES;
}

#endif
