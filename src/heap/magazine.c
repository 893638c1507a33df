/* SPDX-License-Identifier: MIT
 * magazine.c -- places of mini-slabs that a thread keeps, and the way most sampled blocks come and
 * go. */
#include "heap/magazine.h"

#include <string.h>

#include "base/check.h"
#include "heap/meta.h"
#include "heap/misuse.h"
#include "heap/sampled_mark.h"

/* Of memory that would else lie free in a slab: as much as one of these is, four blocks of 16 KiB.
 */
#define MAGAZINE_BYTES MW_SLICE_BYTES

_Static_assert(MW_CLASS_COUNT <= 64, "a bit each");

static unsigned limit_of(unsigned slab_class) {
	size_t places = MAGAZINE_BYTES / mw_class_bytes[slab_class];
	return places < 1 ? 1 : places > MW_MAGAZINE_PLACES ? MW_MAGAZINE_PLACES : (unsigned)places;
}

static MW_COLD mw_magazines_t *make(mw_heap_t *heap) {
	mw_magazines_t *magazines = mw_meta_alloc(sizeof *magazines);
	if (!magazines)
		return NULL;
	unsigned shared = 0, place = 0;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		shared += mw_sampled_shared_class(c) == c;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		magazines->own[c] =
			(uint8_t)(mw_sampled_shared_class(c) == c ? place++ : shared + c - place);
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		magazines->shared[c] = magazines->own[mw_sampled_shared_class(c)];
	heap->magazines = magazines;
	return magazines;
}

/* The first places, which were freed first. */
static MW_NOINLINE void unload(mw_magazine_t *magazine, unsigned slab_class, unsigned count) {
	mw_sampled_put_back(NULL, slab_class, magazine->places, count);
	magazine->count -= count;
	for (unsigned i = 0; i < magazine->count; i++)
		magazine->places[i] = magazine->places[i + count];
}

static MW_NOINLINE void make_room(mw_magazines_t *magazines, mw_magazine_t *magazine,
				  unsigned slab_class) {
	magazines->used |= (uint64_t)1 << slab_class;
	magazine->limit = limit_of(slab_class);
	/* The older half: what comes and goes stays, and others find the rest. */
	if (magazine->count == magazine->limit)
		unload(magazine, slab_class, (magazine->limit + 1) / 2);
}

/* The place is free, and the thread's.  False: no memory to keep it.  Two words, not a place: built
 * in memory, to be loaded as one, it would wait until all stores before it are in the cache. */
static inline bool load(mw_heap_t *heap, unsigned slab_class, void *block, uint32_t *mark) {
	mw_magazines_t *magazines = heap->magazines;
	if (MW_UNLIKELY(!magazines) && !(magazines = make(heap)))
		return false;
	mw_magazine_t *magazine = &magazines->of[magazines->own[slab_class]];
	if (MW_UNLIKELY(magazine->limit <= magazine->count))
		make_room(magazines, magazine, slab_class);
	mw_place_t *place = &magazine->places[magazine->count++];
	place->block = block;
	place->mark = mark;
	return true;
}

void *mw_magazine_take(mw_heap_t *heap, unsigned size_class, uint32_t **mark) {
	mw_magazines_t *magazines = heap->magazines;
	if (MW_UNLIKELY(!magazines))
		return mw_sampled_take(NULL, size_class, mark);
	mw_magazine_t *magazine = &magazines->of[magazines->shared[size_class]];
	/* While the slabs that classes share are full: those that fit. */
	if (MW_UNLIKELY(magazine->count == 0))
		magazine = &magazines->of[magazines->own[size_class]];
	if (MW_UNLIKELY(magazine->count == 0))
		return mw_sampled_take(NULL, size_class, mark);
	const mw_place_t *place = &magazine->places[--magazine->count];
	mw_mark_set(place->mark, size_class << MW_SAMPLED_CLASS_SHIFT);
	*mark = place->mark;
	__builtin_prefetch(place->block, 1);
	return place->block;
}

void mw_magazine_unload(mw_heap_t *heap) {
	mw_magazines_t *magazines = heap->magazines;
	for (uint64_t used = magazines ? magazines->used : 0; used != 0; used &= used - 1) {
		unsigned c = (unsigned)__builtin_ctzll(used);
		mw_magazine_t *magazine = &magazines->of[magazines->own[c]];
		if (magazine->count > 0)
			unload(magazine, c, magazine->count);
	}
}

static MW_NOINLINE void put_back_one(mw_arena_t *arena, unsigned slab_class, void *block,
				     uint32_t *mark) {
	mw_sampled_put_back(arena, slab_class, &(mw_place_t){.block = block, .mark = mark}, 1);
}

int mw_heap_fill_freed = -1;

mw_record_id_t mw_magazine_give(mw_arena_t *arena, mw_page_t *page, void *block,
				uint32_t *usable_bytes) {
	uint32_t offset = (uint32_t)((char *)block - page->start);
	/* Marks of blocks that were never carved hold nothing: the slice may be a used one.
	 * Relaxed: who knows a block knows that it was carved. */
	uint32_t index = mw_class_index(page->size_class, offset);
	if (!mw_class_divides(page->size_class, offset) ||
	    index >= __atomic_load_n(&page->carved, __ATOMIC_RELAXED))
		mw_misuse_misaligned(mw_misuse_function(), block, page);
	uint32_t *its_mark = mw_mark_at(page, index), mark = *its_mark;
	if (mark & MW_MARK_FREE)
		mw_misuse_free_again(page, block);
	*usable_bytes = mw_mark_bytes(mark);
	if (!MW_HARDEN_ON && MW_UNLIKELY(mw_heap_fill_freed >= 0))
		memset(block, mw_heap_fill_freed, *usable_bytes);
	mw_mark_set(its_mark, mark | MW_MARK_FREE);
	/* The hardened library's links are in its blocks. */
	if (MW_HARDEN_ON || arena || !mw_thread.heap ||
	    !load(mw_thread.heap, page->size_class, block, its_mark))
		put_back_one(arena, page->size_class, block, its_mark);
	return mark & MW_SAMPLED_NUMBER_MASK;
}
