/* SPDX-License-Identifier: MIT
 * outbox.h -- tiny blocks of other threads' pages that a thread freed, a list a size class.
 * Layer: heap.  Owner thread only.
 *
 * The thread uses such blocks itself when it runs out of its own: a thread that works on with what
 * another left uses it up instead of taking pages.  Small ones only many together: one by one they
 * would share cache lines with blocks of others, a long list rarely does.  A list that is as
 * long as it may become goes on the shelf (heap/shelf.h), where any thread finds it, or home to its
 * pages when nobody takes from there.
 *
 * What waits here is missing elsewhere, so lists are short at first, and their limit doubles only
 * when one overflowed and then ran empty: that is when a longer one had saved both.
 *
 * Mixed.  In a thread that lives on what it frees of others, some of these blocks are its own, some
 * are not, and nobody can foresee which.  There the outbox takes the class's blocks without asking:
 * the heap's own pages have MW_OWNER_DIVERT, and their blocks count as used while they wait here.
 */
#ifndef MW_HEAP_OUTBOX_H
#define MW_HEAP_OUTBOX_H

#include "heap/heap.h"
#include "heap/inbox.h"
#include "heap/misuse.h"

void mw_outbox_start(mw_heap_t *heap);
/* It ran empty after it had been full. */
void mw_outbox_grow(mw_heap_t *heap, unsigned size_class);

/* Blocks that wait here. */
static inline uint32_t mw_outbox_count(const mw_outbox_t *outbox) {
	return outbox->first ? (uint32_t)((int32_t)(outbox->limit + MW_HARDEN_OUTBOX_MARGIN) -
					  outbox->room)
			     : 0;
}

static inline void mw_outbox_set_count(mw_outbox_t *outbox, uint32_t count) {
	outbox->room = count == 0 ? 0 : (int32_t)(outbox->limit + MW_HARDEN_OUTBOX_MARGIN - count);
}

/* What mw_outbox_add() does when there is no room: the block is the first one, or the list is as
 * long as it may be.  One was taken from the room already. */
MW_NOINLINE void mw_outbox_add_slow(mw_heap_t *heap, unsigned size_class, void *block);

/* The calling thread frees `block`, of a tiny class, of a page it does not own.  Ends the program
 * when it is the block of its class that it freed last. */
MW_ALWAYS_INLINE void mw_outbox_add_inline(mw_heap_t *heap, unsigned size_class, void *block) {
	mw_outbox_t *outbox = &heap->outbox[size_class];
	/* Computed once: gcc would do it again for each field. */
	__asm__("" : "+r"(outbox));
	void *first = outbox->first;
	if (MW_UNLIKELY(first == block))
		mw_misuse_free_again(mw_page_of_slice((uintptr_t)block), block);
	if (MW_UNLIKELY(--outbox->room < 0)) {
		mw_outbox_add_slow(heap, size_class, block);
		return;
	}
	mw_link_set(block, first);
	outbox->first = block;
}

/* The same where it is not in the way of free()'s commonest. */
MW_NOINLINE void mw_outbox_add(mw_heap_t *heap, const mw_page_t *page, void *block);

/* The same for any small block, and a thread that may have no heap. */
static inline void mw_outbox_leave(mw_heap_t *heap, mw_page_t *page, void *block) {
	if (heap && page->size_class < MW_TINY_CLASSES)
		mw_outbox_add(heap, page, block);
	else
		mw_inbox_send_one(page, block);
}

/* From two cache lines on a list of one block is used. */
#define MW_OUTBOX_SINGLE_CLASS (2 * MW_CACHE_LINE_BYTES / MW_BLOCK_ALIGN - 1)

/* No heap: every block of the class comes here. */
#define MW_OUTBOX_SPARES_NONE ((const mw_heap_t *)1)

/* A list is to be used here: do blocks mix, or no longer? */
#define MW_OUTBOX_LOOK_LISTS 8u
void mw_outbox_look(mw_heap_t *heap, unsigned size_class, const void *block);
MW_ALWAYS_INLINE bool mw_outbox_is_mixed(const mw_heap_t *heap, unsigned size_class) {
	return heap->outbox[size_class].spared != heap;
}

/* The length of the list if it is long enough to be used here, or 0. */
static inline uint32_t mw_outbox_usable(const mw_heap_t *heap, unsigned size_class) {
	const mw_outbox_use_t *use = &heap->outbox_use[size_class];
	uint32_t count = mw_outbox_count(&heap->outbox[size_class]);
	bool is_single = size_class >= MW_OUTBOX_SINGLE_CLASS || use->is_rest;
	uint32_t least = is_single ? 1 : use->batch / 2;
	return count >= least + MW_HARDEN_OUTBOX_MARGIN ? count : 0;
}

/* Takes that list of `count`; what is left of its length.  The caller looks whether blocks mix if
 * that is due. */
static inline uint32_t mw_outbox_take_usable(mw_heap_t *heap, unsigned size_class, uint32_t count,
					     void **first) {
	mw_outbox_t *outbox = &heap->outbox[size_class];
	mw_outbox_use_t *use = &heap->outbox_use[size_class];
	*first = outbox->first;
	use->lists += !use->is_rest;
	use->is_rest = false;
	uint32_t held = mw_harden_hold_young(first, count, &outbox->first, &outbox->last);
	mw_outbox_set_count(outbox, held);
	return count - held;
}
static inline bool mw_outbox_look_is_due(const mw_heap_t *heap, unsigned size_class) {
	return heap->outbox_use[size_class].lists >= MW_OUTBOX_LOOK_LISTS;
}

/* Takes the list if it is long enough to be used here; what is left of its length, or 0. */
static inline uint32_t mw_outbox_take(mw_heap_t *heap, unsigned size_class, void **first) {
	uint32_t count = mw_outbox_usable(heap, size_class);
	if (count > 0) {
		count = mw_outbox_take_usable(heap, size_class, count, first);
		if (MW_UNLIKELY(mw_outbox_look_is_due(heap, size_class)))
			mw_outbox_look(heap, size_class, *first);
		return count;
	}
	if (MW_UNLIKELY(heap->outbox_use[size_class].overflows > 0))
		mw_outbox_grow(heap, size_class);
	return 0;
}

/* Ends a list of `count` blocks that was taken here or from the shelf after `keep` of them.  The
 * rest is the next that mw_outbox_take() gives: lists that went on elsewhere, a piece at each
 * sample, would in time lie in memory in any order. */
void mw_outbox_cut(mw_heap_t *heap, unsigned size_class, void **list, uint32_t keep,
		   uint32_t count);
/* All lists go: home to their pages, but for what the hardened library holds back unless it is to
 * be `all`, or (the thread ends) to where others find them. */
MW_COLD void mw_outbox_flush(mw_heap_t *heap, bool all);
MW_COLD void mw_outbox_hand_on(mw_heap_t *heap);
/* All shelves' lists go home.  `heap` may be NULL. */
MW_COLD void mw_outbox_clear_shelves(mw_heap_t *heap);

#endif
