/* SPDX-License-Identifier: MIT
 * heap_walk.c -- sums up the heap's memory by size class, and lists its address ranges. */
#include "heap/stats/heap_walk.h"

#include <string.h>

#include "heap/arena/arena.h"
#include "heap/large/huge.h"
#include "heap/layout/page.h"
#include "heap/layout/remote_word.h"
#include "heap/layout/size_class.h"
#include "heap/memory/chunk.h"
#include "heap/memory/meta.h"
#include "heap/sample/sampled.h"
#include "heap/stats/chunk_map.h"
#include "heap/thread/thread.h"
#include "state/stats.h"

/* Index of the sums of large blocks, behind those of the classes. */
#define LARGE MW_CLASS_COUNT

typedef struct sums {
	mw_heap_walk_class_t classes[MW_CLASS_COUNT + 1];
	uintptr_t start, limit; /* adjacent chunks, not reported yet */
	const mw_heap_walk_sink_t *sink;
	const mw_arena_t *arena; /* the arena to be walked; NULL: all memory */
	/* Live blocks of the current chunk's sampled-slot pages, by slice. */
	uint32_t slab_blocks[MW_CHUNK_SLICES];
} sums_t;

static void add_slab(sums_t *sums, const mw_page_t *page, mw_heap_walk_class_t *class) {
	uint32_t by_class[MW_CLASS_COUNT] = {0};
	/* Leaves out free slots that threads keep for their next samples. */
	mw_sampled_live_t live = mw_sampled_count_live(page, by_class);
	sums->slab_blocks[mw_page_slice_index(page)] = live.blocks;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		sums->classes[c].live_blocks += by_class[c];
	uint32_t carved = __atomic_load_n(&page->carved, __ATOMIC_RELAXED);
	uint32_t free = carved > live.blocks ? carved - live.blocks : 0;
	/* A run counts its slices in the first page; a sampled-slot page is its only page. */
	class->memory_bytes += page->slice_count * MW_SLICE_BYTES;
	/* A slot may be larger than its block, and that part is not touched. */
	class->touched_bytes += live.bytes + (size_t)free * page->block_bytes;
	class->used_bytes += live.bytes;
	class->pages++;
	class->pages_with_room += live.blocks < page->capacity;
}

/* Relaxed reads of other threads' pages: each field is one word, and the page's kind may change
 * between two of them, so a class out of range is passed over. */
static void add_page(sums_t *sums, const mw_page_t *page) {
	unsigned kind = __atomic_load_n(&page->kind, __ATOMIC_RELAXED);
	if (kind == MW_PAGE_LARGE) {
		mw_heap_walk_class_t *large = &sums->classes[LARGE];
		size_t bytes = __atomic_load_n(&page->large_bytes, __ATOMIC_RELAXED);
		large->memory_bytes += page->slice_count * MW_SLICE_BYTES;
		large->touched_bytes += bytes;
		large->used_bytes += bytes;
		return;
	}
	if ((kind != MW_PAGE_SMALL && kind != MW_PAGE_SAMPLED) ||
	    page->size_class >= MW_CLASS_COUNT)
		return;
	mw_heap_walk_class_t *class = &sums->classes[page->size_class];
	if (kind == MW_PAGE_SAMPLED) {
		add_slab(sums, page, class);
		return;
	}
	uint64_t used = mw_remote_used(page);
	uint64_t carved = __atomic_load_n(&page->carved, __ATOMIC_RELAXED);
	class->memory_bytes += MW_SLICE_BYTES;
	class->touched_bytes += (carved > used ? carved : used) * page->block_bytes;
	class->used_bytes += used * page->block_bytes;
	class->live_blocks += used;
	class->pages++;
	class->pages_with_room += used < page->capacity;
}

static void tell_runs(uint64_t mask, mw_free_slices_t kind, const mw_heap_walk_sink_t *sink) {
	while (mask) {
		mask >>= __builtin_ctzll(mask);
		/* Slice 0 is never free, so a zero was shifted in above. */
		unsigned count = (unsigned)__builtin_ctzll(~mask);
		sink->free_slices(count, kind);
		mask >>= count;
	}
}

static void add_pages(sums_t *sums, const mw_chunk_t *chunk) {
	const mw_heap_walk_sink_t *sink = sums->sink;
	uint64_t free = __atomic_load_n(&chunk->free_mask, __ATOMIC_RELAXED);
	if (sink->free_slices) {
		uint64_t dirty = __atomic_load_n(&chunk->dirty_mask, __ATOMIC_RELAXED) & free;
		uint64_t rest = free & ~dirty;
		uint64_t muzzy = __atomic_load_n(&chunk->muzzy_mask, __ATOMIC_RELAXED) & rest;
		rest &= ~muzzy;
		uint64_t pinned = __atomic_load_n(&chunk->pinned_mask, __ATOMIC_RELAXED) & rest;
		tell_runs(dirty, MW_FREE_DIRTY, sink);
		tell_runs(muzzy, MW_FREE_MUZZY, sink);
		tell_runs(pinned, MW_FREE_PINNED, sink);
		tell_runs(rest & ~pinned, MW_FREE_CLEAN, sink);
	}
	uint64_t taken = ~free & ~(uint64_t)1;
	for (; taken; taken &= taken - 1)
		add_page(sums, mw_chunk_page(chunk, (unsigned)__builtin_ctzll(taken)));
}

static void add_chunk(const mw_chunk_t *chunk, void *context) {
	sums_t *sums = context;
	const mw_heap_walk_sink_t *sink = sums->sink;
	memset(sums->slab_blocks, 0, sizeof sums->slab_blocks);
	add_pages(sums, chunk);
	if (sink->chunk)
		mw_chunk_map(chunk, sums->slab_blocks, sink->chunk);
	bool is_unmapped = __atomic_load_n(&chunk->is_unmapped, __ATOMIC_RELAXED);
	uintptr_t start = (uintptr_t)chunk,
		  limit = start + (is_unmapped ? MW_SLICE_BYTES : MW_CHUNK_BYTES);
	if (limit == sums->start) {
		sums->start = start;
		return;
	}
	if (start == sums->limit) {
		sums->limit = limit;
		return;
	}
	if (sums->limit)
		sink->range(sums->start, sums->limit, MW_RANGE_CHUNKS);
	sums->start = start;
	sums->limit = limit;
}

static void tell_classes(sums_t *sums) {
	for (unsigned c = 0; c <= LARGE; c++) {
		sums->classes[c].block_bytes = c < LARGE ? mw_class_bytes[c] : 0;
		sums->sink->size_class(&sums->classes[c]);
	}
}

void mw_heap_walk(const mw_heap_walk_sink_t *sink) {
	sums_t sums = {.sink = sink};
	for (const mw_chunk_t *chunk = mw_chunk_newest(); chunk; chunk = chunk->all_next)
		add_chunk(chunk, &sums);
	mw_arena_visit_chunks(add_chunk, &sums);
	if (sums.limit)
		sink->range(sums.start, sums.limit, MW_RANGE_CHUNKS);
	mw_huge_visit(sink->range);
	uintptr_t start, limit;
	for (unsigned i = 0; mw_meta_region(i, &start, &limit); i++)
		sink->range(start, limit, MW_RANGE_METADATA);
	mw_heap_visit_threads(sink->range);
	tell_classes(&sums);
}

static void add_of_arena(const mw_chunk_t *chunk, void *context) {
	sums_t *sums = context;
	if (chunk->arena == sums->arena)
		add_pages(sums, chunk);
}

void mw_heap_walk_arena(const mw_arena_t *arena, const mw_heap_walk_sink_t *sink) {
	sums_t sums = {.sink = sink, .arena = arena};
	mw_arena_visit_chunks(add_of_arena, &sums);
	tell_classes(&sums);
}

static void count_page(mw_heap_totals_t *totals, const mw_page_t *page) {
	if (page->kind == MW_PAGE_LARGE) {
		totals->live_bytes += page->large_bytes;
		return;
	}
	if (page->kind != MW_PAGE_SMALL && page->kind != MW_PAGE_SAMPLED)
		return;
	uint32_t used = __atomic_load_n(&page->used, __ATOMIC_RELAXED);
	uint32_t carved = __atomic_load_n(&page->carved, __ATOMIC_RELAXED);
	size_t used_bytes = (size_t)used * page->block_bytes;
	if (page->kind == MW_PAGE_SAMPLED) {
		mw_sampled_live_t live = mw_sampled_count_live(page, NULL);
		used = live.blocks;
		used_bytes = live.bytes;
	}
	totals->live_bytes += used_bytes;
	if (page->size_class < MW_CLASS_COUNT && carved > used)
		totals->free_blocks[page->size_class] += carved - used;
}

void mw_heap_totals(mw_heap_totals_t *totals) {
	memset(totals, 0, sizeof *totals);
	const mw_chunk_t *newest = mw_chunk_newest();
	/* No page is taken or given back meanwhile. */
	mw_lock_acquire(mw_chunk_lock(), MW_RANK_CHUNKS);
	for (const mw_chunk_t *chunk = newest; chunk; chunk = chunk->all_next) {
		totals->free_slices += (size_t)__builtin_popcountll(chunk->free_mask);
		for (unsigned i = 1; i < MW_CHUNK_SLICES; i++)
			if (!(chunk->free_mask >> i & 1))
				count_page(totals, mw_chunk_page(chunk, i));
	}
	mw_lock_release(mw_chunk_lock(), MW_RANK_CHUNKS);
}

size_t mw_heap_live_bytes(void) {
	mw_heap_totals_t totals;
	mw_heap_totals(&totals);
	return totals.live_bytes;
}
