/* SPDX-License-Identifier: MIT
 * inherited.c -- what a thread left of its tcache lists. */
#include "heap/local/inherited.h"

#include "heap/layout/link.h"
#include "heap/layout/size_class.h"
#include "heap/local/heap.h"
#include "heap/local/tcache.h"

void mw_inherited_leave(mw_heap_t *heap) {
	for (unsigned c = 0; c < MW_TINY_CLASSES; c++) {
		void *list = mw_thread.tcache_tiny[c];
		if (!list)
			continue;
		mw_inherited_t *inherited = &heap->inherited[c];
		/* The list's end is known where more blocks follow: the list is then the last part
		 * that was taken. */
		if (inherited->first) {
			mw_link_set(inherited->end, inherited->first);
		} else {
			inherited->until_sample = heap->until_sample_tiny[c];
			heap->until_sample_tiny[c] = 0;
		}
		inherited->first = list;
		mw_thread.tcache_tiny[c] = NULL;
	}
}

void *mw_inherited_take(mw_heap_t *heap, unsigned size_class) {
	mw_inherited_t *inherited = &heap->inherited[size_class];
	void *list = inherited->first, *last = list;
	uint32_t count = 1;
	void *rest = mw_link_get(last);
	for (; rest && count < MW_INHERITED_BLOCKS; count++) {
		last = rest;
		rest = mw_link_get(last);
	}
	if (rest)
		mw_link_set(last, NULL);
	else
		heap->until_sample_tiny[size_class] = inherited->until_sample;
	inherited->first = rest;
	inherited->end = last;
	heap->counts.inherited_bytes += (uint64_t)count * mw_class_bytes[size_class];
	return list;
}

void *mw_inherited_take_all(mw_heap_t *heap, unsigned size_class, uint32_t *count) {
	mw_inherited_t *inherited = &heap->inherited[size_class];
	void *list = inherited->first;
	*count = mw_tcache_count_list(list);
	if (list)
		heap->until_sample_tiny[size_class] = inherited->until_sample;
	inherited->first = NULL;
	heap->counts.inherited_bytes += (uint64_t)*count * mw_class_bytes[size_class];
	return list;
}
