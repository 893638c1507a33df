/* SPDX-License-Identifier: MIT
 * heap_walk.c -- mimalloc's functions that visit the blocks of a heap. */
#include <errno.h>

#include "compat/mimalloc/heap.h"
#include "heap/stats/arena_walk.h"

typedef struct visit {
	mi_heap_t *heap;
	mi_block_visit_fun *function;
	void *argument;
} visit_t;

static bool visit_one(const mw_arena_area_t *seen, void *block, size_t bytes, void *context) {
	const visit_t *visit = context;
	mi_heap_area_t area = {
		.blocks = (void *)(uintptr_t)seen->start,
		.reserved = seen->reserved_bytes,
		.committed = seen->touched_bytes,
		.used = seen->live_blocks,
		.block_size = seen->block_bytes,
		.full_block_size = seen->block_bytes,
		.heap_tag = visit->heap->tag,
	};
	return visit->function(visit->heap, &area, block, bytes, visit->argument);
}

bool mi_heap_visit_blocks(const mi_heap_t *heap, bool visit_blocks, mi_block_visit_fun *visitor,
			  void *arg) {
	if (!heap || !visitor || heap->state != MW_MI_HEAP_LIVE)
		return false;
	if (heap == &mw_mi_main_heap) {
		mw_mi_error(EINVAL, "mi_heap_visit_blocks: the main heap cannot be visited; "
				    "'mallow report' shows its blocks by stack");
		return false;
	}
	visit_t visit = {(mi_heap_t *)(uintptr_t)heap, visitor, arg};
	mw_arena_lists_flush(&visit.heap->lists);
	return mw_arena_walk(heap->lists.arena, visit_blocks, visit_one, &visit);
}

bool mi_theap_visit_blocks(const mi_theap_t *theap, bool visit_blocks, mi_block_visit_fun *visitor,
			   void *arg) {
	return mi_heap_visit_blocks((const mi_heap_t *)theap, visit_blocks, visitor, arg);
}

/* A heap keeps the blocks of threads that ended: none is abandoned. */
bool mi_heap_visit_abandoned_blocks(mi_heap_t *heap, bool visit_blocks, mi_block_visit_fun *visitor,
				    void *arg) {
	(void)visit_blocks;
	(void)arg;
	return heap != NULL && visitor != NULL;
}

bool mi_abandoned_visit_blocks(mi_subproc_id_t subproc_id, int heap_tag, bool visit_blocks,
			       mi_block_visit_fun *visitor, void *arg) {
	(void)subproc_id;
	(void)heap_tag;
	(void)visit_blocks;
	(void)arg;
	return visitor != NULL;
}

/* A block of a page that is used little may be moved by the program to free the page. */
bool mi_unsafe_heap_page_is_under_utilized(mi_heap_t *heap, void *p, size_t perc_threshold) {
	if (!mi_heap_contains(heap, p) || mw_word_kind((uintptr_t)p) != MW_MAP_CHUNK)
		return false;
	const mw_page_t *page = mw_page_first(mw_page_of_slice((uintptr_t)p));
	if (page->kind != MW_PAGE_SMALL && page->kind != MW_PAGE_SAMPLED)
		return false;
	return (uint64_t)page->used * 100 < (uint64_t)page->capacity * perc_threshold;
}
