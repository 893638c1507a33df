/* SPDX-License-Identifier: MIT
 * slot_cache.c -- slots that a thread keeps: most sampled blocks come from them and return to them.
 */
#include "heap/sample/slot_cache.h"

#include <string.h>

#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/record.h"
#include "heap/layout/size_class.h"
#include "heap/local/heap.h"
#include "heap/memory/meta.h"
#include "heap/misuse/misuse.h"
#include "heap/sample/sampled.h"
#include "heap/sample/sampled_mark.h"

/* Most bytes of slots in a cache, memory that would otherwise lie free in a page: a page's, or four
 * blocks of 16 KiB. */
#define SLOT_CACHE_BYTES MW_SLICE_BYTES

_Static_assert(MW_CLASS_COUNT <= 64, "a bit each");

static unsigned limit_of(unsigned slab_class) {
	size_t bytes = mw_class_bytes[slab_class];
	/* Blocks of 16 KiB lie in slots of 32, of which the other half is not touched. */
	size_t slots = (bytes > SLOT_CACHE_BYTES / 4 ? 2 : 1) * SLOT_CACHE_BYTES / bytes;
	return slots < 1 ? 1 : slots > MW_SLOT_CACHE_SLOTS ? MW_SLOT_CACHE_SLOTS : (unsigned)slots;
}

static MW_COLD mw_slot_caches_t *make(mw_heap_t *heap) {
	mw_slot_caches_t *caches = mw_meta_alloc(sizeof *caches);
	if (!caches)
		return NULL;
	uint64_t shared = 0;
	unsigned first = 0, last = 0;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		shared |= (uint64_t)1 << mw_sampled_shared_class(c);
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		last += shared >> c & 1;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		caches->own[c] = (uint8_t)(shared >> c & 1 ? first++ : last++);
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		caches->shared[c] = caches->own[mw_sampled_shared_class(c)];
	heap->slot_caches = caches;
	return caches;
}

/* Returns the first slots, which were freed first, to their pages. */
static MW_NOINLINE void unload(mw_slot_cache_t *cache, unsigned slab_class, unsigned count) {
	mw_sampled_put_back(NULL, slab_class, cache->slots, count);
	cache->count -= count;
	for (unsigned i = 0; i < cache->count; i++)
		cache->slots[i] = cache->slots[i + count];
}

static MW_NOINLINE void make_room(mw_slot_caches_t *caches, mw_slot_cache_t *cache,
				  unsigned slab_class) {
	caches->used |= (uint64_t)1 << slab_class;
	cache->limit = limit_of(slab_class);
	/* The older half: slots in constant use stay, and other threads find the rest. */
	if (cache->count == cache->limit)
		unload(cache, slab_class, (cache->limit + 1) / 2);
}

/* Puts a free slot into the thread's cache.  False: no memory for the cache.  The slot is two
 * words, not a struct: a struct built in memory and loaded as one would wait until all stores
 * before it are in the cache. */
static inline bool load(mw_heap_t *heap, unsigned slab_class, void *block, uint32_t *mark) {
	mw_slot_caches_t *caches = heap->slot_caches;
	if (MW_UNLIKELY(!caches) && !(caches = make(heap)))
		return false;
	mw_slot_cache_t *cache = &caches->of[caches->own[slab_class]];
	if (MW_UNLIKELY(cache->limit <= cache->count))
		make_room(caches, cache, slab_class);
	mw_slot_t *slot = &cache->slots[cache->count++];
	slot->block = block;
	slot->mark = mark;
	return true;
}

void *mw_slot_cache_take(mw_heap_t *heap, unsigned size_class, uint32_t **mark) {
	mw_slot_caches_t *caches = heap->slot_caches;
	if (MW_UNLIKELY(!caches))
		return mw_sampled_take(NULL, size_class, mark);
	mw_slot_cache_t *cache = &caches->of[caches->shared[size_class]];
	/* The pages that classes share are full. */
	if (MW_UNLIKELY(cache->count == 0))
		cache = &caches->of[caches->own[mw_sampled_apart_class(size_class)]];
	if (MW_UNLIKELY(cache->count == 0))
		return mw_sampled_take(NULL, size_class, mark);
	const mw_slot_t *slot = &cache->slots[--cache->count];
	void *block = slot->block;
	MW_HOLD(block);
	mw_mark_set(slot->mark, size_class << MW_SAMPLED_CLASS_SHIFT);
	*mark = slot->mark;
	__builtin_prefetch(block, 1);
	return block;
}

void mw_slot_cache_unload(mw_heap_t *heap) {
	mw_slot_caches_t *caches = heap->slot_caches;
	for (uint64_t used = caches ? caches->used : 0; used != 0; used &= used - 1) {
		unsigned c = (unsigned)__builtin_ctzll(used);
		mw_slot_cache_t *cache = &caches->of[caches->own[c]];
		if (cache->count > 0)
			unload(cache, c, cache->count);
	}
}

static MW_NOINLINE void put_back_one(mw_arena_t *arena, unsigned slab_class, void *block,
				     uint32_t *mark) {
	mw_sampled_put_back(arena, slab_class, &(mw_slot_t){.block = block, .mark = mark}, 1);
}

int mw_heap_fill_freed = -1;

mw_record_id_t mw_slot_cache_give(mw_arena_t *arena, mw_page_t *page, void *block,
				  uint32_t *usable_bytes) {
	uint32_t offset = (uint32_t)((char *)block - page->start);
	/* The marks of slots that were never carved are undefined, as the slice may be a used
	 * one.  Relaxed: a thread that knows a block knows that it was carved. */
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
	/* The links of the hardened library are in its blocks. */
	if (MW_HARDEN_ON || arena || !mw_thread.heap ||
	    !load(mw_thread.heap, page->size_class, block, its_mark))
		put_back_one(arena, page->size_class, block, its_mark);
	return mark & MW_SAMPLED_NUMBER_MASK;
}
