/* SPDX-License-Identifier: MIT
 * holes.h -- gives the kernel what lies between the live blocks of a page.
 * Layer: heap.  Owner thread only.
 *
 * One block that lives on keeps its page's slice.  A hole is one of the slice's kernel pages in
 * which every byte is free and that was given back: free blocks that begin there are in no list, as
 * if they were never carved (page->carved is less by them), and linked again before any part of the
 * page that was never used (doc/adr/0022-purged-holes.md). */
#ifndef MW_HEAP_HOLES_H
#define MW_HEAP_HOLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/core/heap.h"
#include "heap/layout/counters.h"
#include "os/memory/map.h"

#define MW_SLICE_KERNEL_PAGES (MW_SLICE_BYTES / MW_OS_PAGE_BYTES)

/* Makes holes in the heap's queued pages.  Returns the bytes that the kernel took. */
MW_COLD size_t mw_holes_make(mw_heap_t *heap);
/* Links blocks of the page's first holes, before what is free.  Returns how many; 0: no hole was
 * left in which a block begins. */
MW_COLD uint32_t mw_holes_link(mw_page_t *page);
/* Does the block, of a page of one slice, begin in a hole? */
bool mw_holes_hold(const mw_page_t *page, const void *block);
/* Bytes that the kernel took so far, from all heaps. */
static inline size_t mw_holes_purged_bytes(void) {
	return mw_counters_read(&mw_counters.hole_kernel_pages) * MW_OS_PAGE_BYTES;
}

#endif
