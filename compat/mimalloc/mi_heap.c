/* SPDX-License-Identifier: MIT
 * mi_heap.c -- mimalloc's functions that make heaps, end them, tell which heap holds a block, and
 * visit blocks. */
#include "compat/mimalloc/mi_heap.h"

#include <errno.h>
#include <string.h>

#define DECAY_UNSET INT64_MIN

mi_heap_t mw_mi_main_heap = {.state = MW_MI_HEAP_LIVE};

static struct {
	/* Heaps by the number of their arena.  Release: a heap is ready when it can be found. */
	_Atomic(mi_heap_t *) by_number[MW_COMPAT_ARENAS_MAX];
} heaps;
static _Atomic unsigned deleted_heaps;
static _Atomic int64_t decay_ms = DECAY_UNSET;

static mi_heap_t *heap_of_number(unsigned number) {
	/* Pairs with the store in structure_for(). */
	return atomic_load_explicit(&heaps.by_number[number], memory_order_acquire);
}

/* ---- make ---- */

/* No other thread has the number, because its arena belongs to the caller. */
static mi_heap_t *structure_for(unsigned number) {
	mi_heap_t *heap = heap_of_number(number);
	if (heap)
		return heap;
	heap = mw_mi_calls()->alloc_metadata(sizeof *heap);
	if (heap)
		atomic_store_explicit(&heaps.by_number[number], heap, memory_order_release);
	return heap;
}

mi_heap_t *mw_mi_heap_make(mw_extent_hooks_t *hooks, int tag, bool may_be_destroyed) {
	mi_process_init();
	mw_mi_heap_sweep();
	const mw_compat_arenas_t *arenas = mw_mi_arenas();
	unsigned number = arenas->create(hooks);
	mi_heap_t *heap = number && number < MW_COMPAT_ARENAS_MAX ? structure_for(number) : NULL;
	struct mw_arena_lists *lists = heap ? arenas->keep_lists(heap->lists, number) : NULL;
	if (!lists) {
		if (number)
			arenas->destroy(number);
		mw_mi_error(ENOMEM, "mi_heap_new: no memory, or more than %u heaps",
			    MW_COMPAT_ARENAS_MAX - 1);
		errno = ENOMEM;
		return NULL;
	}
	int64_t ms = atomic_load_explicit(&decay_ms, memory_order_relaxed);
	if (ms != DECAY_UNSET)
		arenas->set_decay(number, ms);
	heap->lists = lists;
	heap->number = number;
	heap->tag = tag;
	heap->may_be_destroyed = may_be_destroyed;
	heap->state = MW_MI_HEAP_LIVE;
	return heap;
}

mi_heap_t *mi_heap_new(void) {
	return mw_mi_heap_make(NULL, 0, true);
}

void mw_mi_heap_set_decay(int64_t ms) {
	atomic_store_explicit(&decay_ms, ms, memory_order_relaxed);
	for (unsigned i = 1; i < mw_mi_arenas()->count(); i++) {
		mi_heap_t *heap = heap_of_number(i);
		if (heap && heap->state != MW_MI_HEAP_NONE)
			mw_mi_arenas()->set_decay(i, ms);
	}
}

/* ---- end ---- */

/* Prepares the end of a heap: unbinds the calling thread and takes the lists away from the heap's
 * thread. False: the program may not end this heap. */
static bool leave(mi_heap_t *heap, const char *function) {
	if (!heap || heap == &mw_mi_main_heap)
		return false;
	if (heap->state != MW_MI_HEAP_LIVE) {
		mw_mi_error(EINVAL, "%s: the heap was deleted before", function);
		return false;
	}
	if (mw_mi_arenas()->bound() == heap->number)
		mw_mi_arenas()->bind(0);
	mw_mi_arenas()->release_lists(heap->lists);
	return true;
}

static void end_if_empty(mi_heap_t *heap) {
	int expected = MW_MI_HEAP_DELETED;
	if (!atomic_compare_exchange_strong(&heap->state, &expected, MW_MI_HEAP_ENDING))
		return;
	unsigned number = heap->number;
	if (!mw_mi_arenas()->is_unused(number)) {
		heap->state = MW_MI_HEAP_DELETED;
		return;
	}
	/* This store comes first, because another thread may get the number as soon as the arena is
	 * destroyed. */
	heap->state = MW_MI_HEAP_NONE;
	atomic_fetch_sub_explicit(&deleted_heaps, 1, memory_order_relaxed);
	mw_mi_arenas()->destroy(number);
}

void mw_mi_heap_sweep(void) {
	if (atomic_load_explicit(&deleted_heaps, memory_order_relaxed) == 0)
		return;
	for (unsigned i = 1; i < mw_mi_arenas()->count(); i++) {
		mi_heap_t *heap = heap_of_number(i);
		if (heap)
			end_if_empty(heap);
	}
}

static void end_later(mi_heap_t *heap) {
	atomic_fetch_add_explicit(&deleted_heaps, 1, memory_order_relaxed);
	heap->state = MW_MI_HEAP_DELETED;
	end_if_empty(heap);
}

void mi_heap_delete(mi_heap_t *heap) {
	if (!leave(heap, "mi_heap_delete"))
		return;
	mw_mi_arenas()->flush_lists(heap->lists);
	end_later(heap);
}

void mi_heap_destroy(mi_heap_t *heap) {
	if (!leave(heap, "mi_heap_destroy"))
		return;
	if (heap->may_be_destroyed)
		mw_mi_arenas()->reset(heap->number);
	else
		mw_mi_arenas()->flush_lists(heap->lists);
	end_later(heap);
}

void mi_heap_collect(mi_heap_t *heap, bool force) {
	mw_mi_beat(force);
	if (heap == &mw_mi_main_heap) {
		mi_collect(force);
		return;
	}
	if (mw_mi_arenas()->lists_are_own(heap->lists))
		mw_mi_arenas()->flush_lists(heap->lists);
	mw_mi_arenas()->purge(heap->number, force);
}

/* The kernel places memory on the node of the thread that touches it first. */
void mi_heap_set_numa_affinity(mi_heap_t *heap, int numa_node) {
	(void)heap;
	(void)numa_node;
}

/* ---- the thread's default heap ---- */

mi_heap_t *mi_heap_main(void) {
	return &mw_mi_main_heap;
}

mi_heap_t *mi_heap_get_backing(void) {
	return &mw_mi_main_heap;
}

static mi_heap_t *live_heap(unsigned number) {
	mi_heap_t *heap = number ? heap_of_number(number) : NULL;
	return heap && heap->state == MW_MI_HEAP_LIVE ? heap : &mw_mi_main_heap;
}

mi_heap_t *mi_heap_get_default(void) {
	return live_heap(mw_mi_arenas()->bound());
}

mi_heap_t *mi_heap_set_default(mi_heap_t *heap) {
	mi_process_init();
	mi_heap_t *before = mi_heap_get_default();
	if (heap && heap->state == MW_MI_HEAP_LIVE)
		mw_mi_arenas()->bind(heap->number);
	return before;
}

/* ---- the heap of a block ---- */

mi_heap_t *mw_mi_heap_of(const void *block) {
	int number = mw_mi_arenas()->of_block(block);
	return number < 0 ? NULL : live_heap((unsigned)number);
}

mi_heap_t *mi_heap_of(const void *p) {
	return mw_mi_heap_of(p);
}

bool mi_heap_contains(const mi_heap_t *heap, const void *p) {
	return heap && mw_mi_heap_of(p) == heap;
}

bool mi_heap_contains_block(mi_heap_t *heap, const void *p) {
	return mi_heap_contains(heap, p);
}

bool mi_heap_check_owned(mi_heap_t *heap, const void *p) {
	return mi_heap_contains(heap, p);
}

bool mi_check_owned(const void *p) {
	return mi_heap_contains(mi_heap_get_default(), p);
}

bool mi_any_heap_contains(const void *p) {
	return mw_mi_arenas()->of_block(p) >= 0;
}

/* ---- subprocesses see all heaps ---- */

bool mi_subproc_visit_heaps(mi_subproc_id_t subproc, mi_heap_visit_fun *visitor, void *arg) {
	(void)subproc;
	if (!visitor || !visitor(&mw_mi_main_heap, arg))
		return false;
	for (unsigned i = 1; i < mw_mi_arenas()->count(); i++) {
		mi_heap_t *heap = heap_of_number(i);
		if (heap && heap->state == MW_MI_HEAP_LIVE && !visitor(heap, arg))
			return false;
	}
	return true;
}

/* ---- visits ---- */

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
	mw_mi_arenas()->flush_lists(heap->lists);
	return mw_mi_arenas()->walk(heap->number, visit_blocks, visit_one, &visit);
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

/* The program may move a block out of a page that is little used, so that the page becomes free. */
bool mi_unsafe_heap_page_is_under_utilized(mi_heap_t *heap, void *p, size_t perc_threshold) {
	return mi_heap_contains(heap, p) && mw_mi_arenas()->is_sparse(p, perc_threshold);
}
