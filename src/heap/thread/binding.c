/* SPDX-License-Identifier: MIT
 * binding.c -- binds the calling thread to an arena. */
#include "heap/thread/binding.h"

#include <string.h>

#include "heap/layout/page.h"
#include "heap/local/heap.h"
#include "heap/local/tcache.h"
#include "heap/thread/thread.h"

MW_SPARSE mw_arena_t mw_arena_watched;
bool mw_arena_watches;

void mw_arena_watch(void) {
	mw_arena_watches = true;
	if (mw_thread.heap)
		mw_arena_bind(NULL);
}

bool mw_arena_bind(mw_arena_t *arena) {
	mw_heap_t *heap = mw_heap_self();
	if (!heap)
		return false;
	if (MW_UNLIKELY(mw_arena_watches) && !arena && !mw_thread.ended)
		arena = &mw_arena_watched;
	mw_heap_take_rate(); /* blocks in its lists belong to where it was bound before */
	if (heap->arena)
		atomic_fetch_sub_explicit(&heap->arena->threads, 1, memory_order_relaxed);
	if (arena)
		atomic_fetch_add_explicit(&arena->threads, 1, memory_order_relaxed);
	heap->arena = arena;
	/* Tcache lists that stay empty lead each allocation to the slow path: free() pushes
	 * nothing onto lists of length 0, and lists marked as cut are not refilled.  Countdowns are
	 * drawn anew, which is right as they have no memory. */
	mw_tcache_start(heap);
	heap->cut = arena ? UINT32_MAX : 0;
	memset(heap->until_sample_tiny, 0, sizeof heap->until_sample_tiny);
	return true;
}
