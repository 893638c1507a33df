/* SPDX-License-Identifier: MIT
 * outbox.c -- where lists of strangers' blocks go. */
#include "heap/outbox.h"

#include "base/check.h"
#include "heap/heap_page.h"
#include "heap/inbox.h"
#include "heap/misuse.h"
#include "heap/shelf.h"

/* A batch, the limit at first, is so many bytes or blocks; the limit doubles up to so many batches.
 */
#define BATCH_BYTES 2048u
#define BATCH_BLOCKS 32u
#define BATCHES_MAX 4u
/* Overflows without a need of the thread's own, after which the limit is what it was at first. */
#define IDLE_OVERFLOWS 8u

void mw_outbox_start(mw_heap_t *heap) {
	for (unsigned c = 0; c < MW_TINY_CLASSES; c++) {
		uint32_t batch = BATCH_BYTES / mw_class_bytes[c];
		if (batch > BATCH_BLOCKS)
			batch = BATCH_BLOCKS;
		/* A heap that waited for this thread goes on as it was. */
		bool mixed = heap->outbox[c].spared == MW_OUTBOX_SPARES_NONE;
		heap->outbox[c] = (mw_outbox_t){.spared = mixed ? MW_OUTBOX_SPARES_NONE : heap,
						.limit = batch};
		heap->outbox_use[c] = (mw_outbox_use_t){
			.batch = (uint8_t)batch, .fills_seen = (uint32_t)heap->counts.fills[c]};
	}
}

static void set_limit(mw_outbox_t *outbox, uint32_t limit) {
	uint32_t count = mw_outbox_count(outbox);
	outbox->limit = limit;
	mw_outbox_set_count(outbox, count);
}

void mw_outbox_grow(mw_heap_t *heap, unsigned size_class) {
	mw_outbox_t *outbox = &heap->outbox[size_class];
	mw_outbox_use_t *use = &heap->outbox_use[size_class];
	use->overflows = 0;
	if (outbox->limit < use->batch * BATCHES_MAX)
		set_limit(outbox, outbox->limit * 2);
}

/* The page of a block that a list leads to. */
static mw_page_t *page_of(void *block, unsigned size_class) {
	mw_page_t *page = mw_word_kind((uintptr_t)block) == MW_MAP_CHUNK
				  ? mw_page_of_slice((uintptr_t)block)
				  : NULL;
	if (!page || page->kind != MW_PAGE_SMALL || page->size_class != size_class ||
	    !mw_page_holds(page, block))
		mw_fatal("corrupt list of freed blocks of size class %u at %p: written to after "
			 "free, or freed twice",
			 mw_class_bytes[size_class], block);
	return page;
}

/* The part of a list that goes to one page. */
typedef struct parcel {
	mw_page_t *page; /* NULL: empty */
	void *first, *last;
	uint32_t count;
} parcel_t;

static void send(parcel_t *parcel) {
	mw_page_t *page = parcel->page;
	parcel->page = NULL;
	if (page)
		mw_inbox_send(page, parcel->first, parcel->last, parcel->count);
}

static void add(parcel_t *parcel, mw_page_t *page, void *block) {
	if (parcel->page != page) {
		send(parcel);
		*parcel = (parcel_t){.page = page, .last = block};
	}
	mw_link_set(block, parcel->first);
	parcel->first = block;
	parcel->count++;
}

/* A push onto a page's inbox is a compare-and-swap on a cache line that the owner reads too: blocks
 * of a page that come soon after one another share one. */
static void send_home(mw_heap_t *heap, unsigned size_class, void *list, uint32_t count) {
	enum { PARCELS = 8 };
	parcel_t parcels[PARCELS] = {0};
	for (; count > 0; count--) {
		void *block = list;
		mw_page_t *page = page_of(block, size_class);
		list = mw_link_get(block);
		if (heap && atomic_load_explicit(&page->heap, memory_order_relaxed) == heap)
			mw_heap_page_put(heap, page, block);
		else /* neighbouring pages fall into different places */
			add(&parcels[((uintptr_t)page >> MW_PAGE_META_SHIFT) % PARCELS], page,
			    block);
	}
	for (unsigned i = 0; i < PARCELS; i++)
		send(&parcels[i]);
}

static void clear_shelf(mw_heap_t *heap, unsigned size_class) {
	void *list;
	uint32_t count;
	while ((count = mw_shelf_clear_one(size_class, &list)) != 0)
		send_home(heap, size_class, list, count);
}

static void hand_on(mw_heap_t *heap, unsigned size_class, mw_shelf_list_t list) {
	if (MW_LIKELY(list.count == 0 || mw_shelf_put(size_class, &list)))
		return;
	send_home(heap, size_class, list.first, list.count);
	clear_shelf(heap, size_class);
}

static mw_shelf_list_t take_all(mw_heap_t *heap, unsigned size_class) {
	mw_outbox_t *outbox = &heap->outbox[size_class];
	mw_shelf_list_t list = {outbox->first, outbox->last, mw_outbox_count(outbox)};
	outbox->first = NULL;
	heap->outbox_use[size_class].is_rest = false;
	mw_outbox_set_count(outbox, 0);
	return list;
}

/* The same but for the youngest, in the hardened library. */
static mw_shelf_list_t take_aged(mw_heap_t *heap, unsigned size_class) {
	mw_outbox_t *outbox = &heap->outbox[size_class];
	mw_shelf_list_t list = {outbox->first, outbox->last, mw_outbox_count(outbox)};
	uint32_t held =
		mw_harden_hold_young(&list.first, list.count, &outbox->first, &outbox->last);
	heap->outbox_use[size_class].is_rest = false;
	mw_outbox_set_count(outbox, held);
	list.count -= held;
	return list;
}

/* A list that is as long as it may be goes, and the block is the first of the next. */
static MW_NOINLINE void add_to_full(mw_heap_t *heap, unsigned size_class, void *block) {
	mw_outbox_t *outbox = &heap->outbox[size_class];
	mw_outbox_use_t *use = &heap->outbox_use[size_class];
	outbox->room++;
	if (++use->overflows == IDLE_OVERFLOWS)
		set_limit(outbox, use->batch);
	if (mw_outbox_is_mixed(heap, size_class))
		mw_outbox_look(heap, size_class, block);
	hand_on(heap, size_class, take_aged(heap, size_class));
	uint32_t count = mw_outbox_count(outbox);
	mw_link_set(block, outbox->first);
	if (!outbox->first)
		outbox->last = block;
	outbox->first = block;
	mw_outbox_set_count(outbox, count + 1);
}

void mw_outbox_add_slow(mw_heap_t *heap, unsigned size_class, void *block) {
	mw_outbox_t *outbox = &heap->outbox[size_class];
	if (MW_UNLIKELY(outbox->first != NULL)) {
		add_to_full(heap, size_class, block);
		return;
	}
	mw_link_set(block, NULL);
	outbox->first = outbox->last = block;
	mw_outbox_set_count(outbox, 1);
}

void mw_outbox_add(mw_heap_t *heap, const mw_page_t *page, void *block) {
	mw_outbox_add_inline(heap, page->size_class, block);
}

void mw_outbox_cut(mw_heap_t *heap, unsigned size_class, void **list, uint32_t keep,
		   uint32_t count) {
	void *rest = *list, *last = NULL;
	for (uint32_t i = 0; i < keep; i++) {
		page_of(rest, size_class);
		last = rest;
		rest = mw_link_get(rest);
	}
	if (last)
		mw_link_set(last, NULL);
	else
		*list = NULL;
	mw_outbox_t *outbox = &heap->outbox[size_class];
	if (outbox->first && !outbox->last) {
		hand_on(heap, size_class, (mw_shelf_list_t){rest, NULL, count - keep});
		return;
	}
	uint32_t waiting = mw_outbox_count(outbox);
	if (outbox->first)
		mw_link_set(outbox->last, rest);
	else
		outbox->first = rest;
	outbox->last = NULL;
	heap->outbox_use[size_class].is_rest = true;
	mw_outbox_set_count(outbox, waiting + count - keep);
}

void mw_outbox_flush(mw_heap_t *heap, bool all) {
	for (unsigned c = 0; c < MW_TINY_CLASSES; c++) {
		if (!heap->outbox[c].first)
			continue;
		mw_shelf_list_t list = all ? take_all(heap, c) : take_aged(heap, c);
		send_home(heap, c, list.first, list.count);
	}
}

void mw_outbox_hand_on(mw_heap_t *heap) {
	for (unsigned c = 0; c < MW_TINY_CLASSES; c++) {
		bool is_long = mw_outbox_count(&heap->outbox[c]) >= heap->outbox_use[c].batch / 2;
		mw_shelf_list_t list = take_all(heap, c);
		if (is_long)
			hand_on(heap, c, list);
		else
			send_home(heap, c, list.first, list.count);
	}
}

void mw_outbox_clear_shelves(mw_heap_t *heap) {
	for (unsigned c = 0; c < MW_TINY_CLASSES; c++)
		clear_shelf(heap, c);
}
