/* SPDX-License-Identifier: MIT
 * block_index.c -- a hash table of chunks, and a sorted list of blocks outside of chunks. */
#include "leak/block_index.h"

#include <string.h>

#include "base/bits.h"
#include "heap/arena/arena.h"
#include "heap/large/huge.h"
#include "heap/layout/size_class.h"
#include "heap/local/holes.h"
#include "heap/memory/chunk.h"
#include "heap/memory/meta.h"
#include "heap/misuse/guarded.h"
#include "heap/sample/sampled_mark.h"
#include "os/memory/map.h"
#include "os/process/stop.h"
#include "prof/mappings/mappings.h"
#include "prof/script/script.h"
#include "prof/store/published.h"
#include "prof/store/store.h"
#include "prof/table/collect.h"
#include "prof/table/depot.h"
#include "prof/unwind/unwind.h"
#include "state/stats.h"

typedef struct chunk {
	const mw_chunk_t *chunk;               /* NULL: the place is empty */
	uint64_t first_bit;                    /* of the chunk's first block */
	uint32_t page_bit[MW_CHUNK_SLICES];    /* first block of the page, less first_bit */
	uint32_t page_blocks[MW_CHUNK_SLICES]; /* blocks that were ever handed out; 0: none */
} chunk_t;

/* A block outside of chunks, or other memory of the heap. */
typedef struct range {
	uintptr_t start, limit;
} range_t;

typedef struct ranges {
	range_t *list; /* sorted by address once all are there */
	size_t count, capacity;
} ranges_t;

static struct {
	chunk_t *chunks; /* open addressing by the chunk's number, with linear probing */
	size_t places;   /* a power of two */
	size_t chunk_count;
	ranges_t blocks;     /* huge blocks and guarded ones */
	ranges_t memory;     /* all memory of the heap */
	uint64_t block_bits; /* first bit of `blocks` */
	uint64_t bits;
	uint64_t *maps[MW_LEAK_MAPS];
	bool no_memory;
} leak_index;

/* ---- bits ---- */

bool mw_leak_bit(mw_leak_map_t map, uint64_t bit) {
	return leak_index.maps[map][bit / 64] >> bit % 64 & 1;
}

void mw_leak_bit_set(mw_leak_map_t map, uint64_t bit) {
	leak_index.maps[map][bit / 64] |= (uint64_t)1 << bit % 64;
}

void mw_leak_bit_clear(mw_leak_map_t map, uint64_t bit) {
	leak_index.maps[map][bit / 64] &= ~((uint64_t)1 << bit % 64);
}

/* ---- ranges ---- */

static void add_range(ranges_t *ranges, uintptr_t start, uintptr_t limit) {
	if (ranges->count < ranges->capacity)
		ranges->list[ranges->count++] = (range_t){start, limit};
	else
		leak_index.no_memory = true;
}

static void *take(size_t bytes) {
	void *memory = mw_os_map(mw_round_up(bytes + 1, MW_OS_PAGE_BYTES));
	leak_index.no_memory |= !memory;
	return memory;
}

/* Takes memory from the kernel for a table of the index, and excludes the memory from the roots: a
 * table holds addresses of blocks that are not the program's pointers. */
static void *take_own(size_t bytes) {
	char *memory = take(bytes);
	if (memory)
		add_range(&leak_index.memory, (uintptr_t)memory, (uintptr_t)memory + bytes);
	return memory;
}

static void add_huge(uintptr_t start, uintptr_t limit, unsigned kind) {
	if (kind == MW_RANGE_HUGE)
		add_range(&leak_index.blocks, start, limit);
	add_range(&leak_index.memory, start, limit);
}

static void add_memory(uintptr_t start, uintptr_t limit) {
	add_range(&leak_index.memory, start, limit);
}

/* The library's own memory: profile tables, guarded slots, walk caches and registers of earlier
 * checks hold addresses of blocks. */
static void add_own_memory(void) {
	uintptr_t start, limit;
	for (unsigned i = 0; mw_meta_region(i, &start, &limit); i++)
		add_memory(start, limit);
	mw_store_visit(add_memory);
	add_memory((uintptr_t)mw_published_view.segments,
		   (uintptr_t)mw_published_view.segments + sizeof mw_published_view.segments);
	mw_depot_visit(add_memory);
	mw_script_visit(add_memory);
	mw_collect_visit(add_memory);
	mw_mappings_visit_memory(add_memory);
	mw_unwind_visit_memory(add_memory);
	mw_guarded_visit_memory(add_memory);
	mw_os_stop_visit_memory(add_memory);
}

static void add_guarded(uintptr_t start, size_t bytes) {
	add_range(&leak_index.blocks, start, start + bytes);
}

static void sift(range_t *list, size_t root, size_t count) {
	for (size_t child; (child = 2 * root + 1) < count; root = child) {
		child += child + 1 < count && list[child].start < list[child + 1].start;
		if (list[root].start >= list[child].start)
			return;
		range_t moved = list[root];
		list[root] = list[child];
		list[child] = moved;
	}
}

/* Heap sort (Williams, CACM 7, 1964): qsort(3) may allocate. */
static void sort(ranges_t *ranges) {
	range_t *list = ranges->list;
	for (size_t i = ranges->count / 2; i > 0; i--)
		sift(list, i - 1, ranges->count);
	for (size_t last = ranges->count; last > 1; last--) {
		range_t first = list[0];
		list[0] = list[last - 1];
		list[last - 1] = first;
		sift(list, 0, last - 1);
	}
}

/* Returns the number of ranges that start at or below the address. */
static size_t count_below(const ranges_t *ranges, uintptr_t address) {
	size_t low = 0, high = ranges->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ranges->list[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uintptr_t mw_leak_heap_memory(uintptr_t address, uintptr_t *next) {
	const ranges_t *memory = &leak_index.memory;
	size_t below = count_below(memory, address);
	*next = below < memory->count ? memory->list[below].start : UINTPTR_MAX;
	return below > 0 && address < memory->list[below - 1].limit ? memory->list[below - 1].limit
								    : 0;
}

/* ---- chunks ---- */

static size_t home_of(uintptr_t address) {
	/* Fibonacci hashing. */
	return (size_t)((address >> MW_CHUNK_SHIFT) * 0x9e3779b97f4a7c15u >> 32) &
	       (leak_index.places - 1);
}

static chunk_t *find_chunk(uintptr_t address) {
	uintptr_t chunk = address & ~(MW_CHUNK_BYTES - 1);
	for (size_t i = home_of(address);; i = (i + 1) & (leak_index.places - 1))
		if ((uintptr_t)leak_index.chunks[i].chunk == chunk)
			return &leak_index.chunks[i];
		else if (!leak_index.chunks[i].chunk)
			return NULL;
}

static void count_chunk(const mw_chunk_t *chunk, void *context) {
	(void)chunk;
	*(size_t *)context += 1;
}

/* Blocks of the page that were ever handed out, and those in its holes. A page without a used block
 * has none: it may have lost its lists already, while its thread waits for a lock to return it. */
static uint32_t blocks_of(const mw_page_t *page) {
	uint32_t blocks = page->carved;
	if (page->kind == MW_PAGE_LARGE)
		return 1;
	if (page->kind == MW_PAGE_SMALL && page->used == 0)
		return 0;
	if (mw_leak_is_between(page))
		return page->capacity;
	if (page->size_class >= MW_CLASS_COUNT || page->block_bytes == 0)
		return 0;
	if (page->kind == MW_PAGE_SMALL)
		for (uint32_t i = 0; i < blocks && blocks < page->capacity; i++)
			blocks += mw_holes_hold(page, page->start + (size_t)i * page->block_bytes);
	return blocks < page->capacity ? blocks : page->capacity;
}

static bool holds_blocks(const mw_page_t *page) {
	return page->kind == MW_PAGE_SMALL || page->kind == MW_PAGE_LARGE ||
	       page->kind == MW_PAGE_SAMPLED;
}

static void add_chunk(const mw_chunk_t *chunk, void *context) {
	(void)context;
	uintptr_t start = (uintptr_t)chunk;
	add_range(&leak_index.memory, start,
		  start + (chunk->is_unmapped ? MW_SLICE_BYTES : MW_CHUNK_BYTES));
	size_t i = home_of(start);
	while (leak_index.chunks[i].chunk)
		i = (i + 1) & (leak_index.places - 1);
	chunk_t *entry = &leak_index.chunks[i];
	entry->chunk = chunk;
	entry->first_bit = leak_index.bits;
	uint32_t used = 0;
	for (unsigned slice = 1; slice < MW_CHUNK_SLICES; slice++) {
		const mw_page_t *page = mw_chunk_page(chunk, slice);
		if (chunk->free_mask >> slice & 1 || !holds_blocks(page))
			continue;
		entry->page_bit[slice] = used;
		entry->page_blocks[slice] = blocks_of(page);
		used += entry->page_blocks[slice];
	}
	leak_index.bits += used;
}

static void visit_chunks(void (*visit)(const mw_chunk_t *chunk, void *context), void *context) {
	for (const mw_chunk_t *chunk = mw_chunk_newest(); chunk; chunk = chunk->all_next)
		visit(chunk, context);
	mw_arena_visit_chunks(visit, context);
}

typedef void visit_page_t(const mw_page_t *page, uint64_t first, uint32_t blocks, void *context);

static void visit_pages(visit_page_t *visit, void *context) {
	for (size_t i = 0; i < leak_index.places; i++) {
		const chunk_t *chunk = &leak_index.chunks[i];
		for (unsigned slice = 1; chunk->chunk && slice < MW_CHUNK_SLICES; slice++)
			if (chunk->page_blocks[slice] > 0)
				visit(mw_chunk_page(chunk->chunk, slice),
				      chunk->first_bit + chunk->page_bit[slice],
				      chunk->page_blocks[slice], context);
	}
}

/* ---- which blocks are live at first ---- */

/* Returns the bits of a map's word that holds bit `first`, from this bit on and below `end`. */
static uint64_t part_of_word(uint64_t first, uint64_t end) {
	uint64_t part = ~(uint64_t)0 << first % 64;
	return end - first < 64 - first % 64 ? part & (((uint64_t)1 << end % 64) - 1) : part;
}

static uint64_t next_word(uint64_t bit) {
	return (bit | 63) + 1;
}

/* Sets the bits [first, first + count). */
static void set_live(uint64_t first, uint64_t count) {
	uint64_t *live = leak_index.maps[MW_LEAK_LIVE], end = first + count;
	for (uint64_t bit = first; bit < end; bit = next_word(bit))
		live[bit / 64] |= part_of_word(bit, end);
}

static void set_page_live(const mw_page_t *page, uint64_t first, uint32_t blocks, void *unused) {
	(void)unused;
	if (page->kind == MW_PAGE_LARGE || mw_leak_is_between(page) ||
	    (page->kind == MW_PAGE_SMALL && page->holes == 0)) {
		set_live(first, blocks);
		return;
	}
	for (uint32_t i = 0; i < blocks; i++) {
		const char *block = page->start + (size_t)i * page->block_bytes;
		bool is_free = page->kind == MW_PAGE_SAMPLED
				       ? (*mw_mark_at(page, i) & MW_MARK_FREE) != 0
				       : page->kind == MW_PAGE_SMALL && mw_holes_hold(page, block);
		if (!is_free)
			mw_leak_bit_set(MW_LEAK_LIVE, first + i);
	}
}

static void set_all_live(void) {
	visit_pages(set_page_live, NULL);
	set_live(leak_index.block_bits, leak_index.blocks.count);
}

/* ---- interface ---- */

static bool take_tables(void) {
	uintptr_t start, limit;
	mw_huge_stats_t huge;
	size_t chunks = 0, metadata = 0;
	visit_chunks(count_chunk, &chunks);
	mw_huge_stats(&huge);
	while (mw_meta_region((unsigned)metadata, &start, &limit))
		metadata++;
	leak_index.places = 64;
	while (leak_index.places < 2 * chunks)
		leak_index.places *= 2;
	/* Freed mappings that are kept for reuse, and tables of the index, are few. */
	leak_index.memory.capacity = chunks + huge.blocks + metadata + 4096;
	size_t memory_bytes = leak_index.memory.capacity * sizeof(range_t);
	leak_index.memory.list = take(memory_bytes);
	if (leak_index.no_memory)
		return false;
	uintptr_t list = (uintptr_t)leak_index.memory.list;
	add_range(&leak_index.memory, list, list + memory_bytes);
	leak_index.chunks = take_own(leak_index.places * sizeof(chunk_t));
	leak_index.blocks.capacity = huge.blocks + (size_t)mw_guarded_stats().live;
	leak_index.blocks.list = take_own(leak_index.blocks.capacity * sizeof(range_t));
	return !leak_index.no_memory;
}

bool mw_leak_index_build(void) {
	if (!take_tables())
		return false;
	visit_chunks(add_chunk, NULL);
	mw_huge_visit(add_huge);
	mw_guarded_visit_live(add_guarded);
	add_own_memory();
	leak_index.block_bits = leak_index.bits;
	leak_index.bits += leak_index.blocks.count;
	for (unsigned i = 0; i < MW_LEAK_MAPS; i++)
		leak_index.maps[i] = take_own(leak_index.bits / 8 + sizeof(uint64_t));
	sort(&leak_index.blocks);
	sort(&leak_index.memory);
	if (!leak_index.no_memory)
		set_all_live();
	return !leak_index.no_memory;
}

/* Describes block `number` of a page. */
static void describe(const mw_page_t *page, uint64_t first_bit, uint32_t number,
		     mw_leak_block_t *block) {
	block->bit = first_bit + number;
	block->start = (uintptr_t)page->start + (size_t)number * page->block_bytes;
	block->bytes = page->block_bytes;
	if (page->kind == MW_PAGE_LARGE) {
		block->start = (uintptr_t)page->start;
		block->bytes = page->large_bytes;
	} else if (page->kind == MW_PAGE_SAMPLED) {
		block->bytes = mw_mark_bytes(*mw_mark_at(page, number));
	}
}

static mw_leak_block_t outside_block(size_t number) {
	const range_t *range = &leak_index.blocks.list[number];
	return (mw_leak_block_t){range->start, range->limit - range->start,
				 leak_index.block_bits + number};
}

static bool find_in_chunk(uintptr_t address, mw_leak_block_t *block) {
	const chunk_t *chunk = find_chunk(address);
	if (!chunk)
		return false;
	const mw_page_t *page = mw_page_first(mw_page_of_slice(address));
	/* A block of a run may reach into the next slice. */
	if (page->kind == MW_PAGE_SMALL && address < (uintptr_t)page->start)
		page--;
	unsigned slice = mw_page_slice_index(page);
	uint32_t blocks = chunk->page_blocks[slice], number = 0;
	if (blocks == 0 || address < (uintptr_t)page->start)
		return false;
	if (page->kind != MW_PAGE_LARGE) {
		size_t offset = address - (uintptr_t)page->start;
		if (offset > UINT32_MAX)
			return false;
		number = mw_class_index(page->size_class, (uint32_t)offset);
	} else if (address - (uintptr_t)page->start >= page->large_bytes) {
		return false;
	}
	if (number >= blocks)
		return false;
	describe(page, chunk->first_bit + chunk->page_bit[slice], number, block);
	return true;
}

void mw_leak_index_span(uintptr_t *start, uintptr_t *bytes) {
	const ranges_t *memory = &leak_index.memory, *blocks = &leak_index.blocks;
	uintptr_t limit = memory->list[memory->count - 1].limit;
	*start = memory->list[0].start;
	if (blocks->count > 0 && blocks->list[0].start < *start)
		*start = blocks->list[0].start;
	if (blocks->count > 0 && blocks->list[blocks->count - 1].limit > limit)
		limit = blocks->list[blocks->count - 1].limit;
	*bytes = limit - *start;
}

bool mw_leak_index_find(uintptr_t address, mw_leak_block_t *block) {
	if (mw_word_kind(address) == MW_MAP_CHUNK && find_in_chunk(address, block))
		return true;
	const ranges_t *blocks = &leak_index.blocks;
	size_t below = count_below(blocks, address);
	if (below == 0 || address >= blocks->list[below - 1].limit)
		return false;
	*block = outside_block(below - 1);
	return true;
}

typedef struct visitor {
	bool reached;
	void (*visit)(const mw_leak_block_t *block);
} visitor_t;

/* Returns the bits of live blocks that the visitor wants, of the word that holds bit `first`. */
static uint64_t wanted_bits(const visitor_t *visitor, uint64_t first, uint64_t end) {
	uint64_t reached = leak_index.maps[MW_LEAK_REACHED][first / 64];
	return leak_index.maps[MW_LEAK_LIVE][first / 64] & (visitor->reached ? reached : ~reached) &
	       part_of_word(first, end);
}

/* A block's bit may change while other blocks are visited: the word is read again for each. */
static void visit_blocks(const mw_page_t *page, uint64_t first, uint32_t blocks, void *context) {
	const visitor_t *visitor = context;
	uint64_t end = first + blocks, bit = first;
	while (bit < end) {
		uint64_t word = wanted_bits(visitor, bit, end);
		if (word == 0) {
			bit = next_word(bit);
			continue;
		}
		bit = (bit & ~(uint64_t)63) + (unsigned)__builtin_ctzll(word);
		mw_leak_block_t block;
		describe(page, first, (uint32_t)(bit - first), &block);
		visitor->visit(&block);
		bit++;
	}
}

void mw_leak_index_visit(bool reached, void (*visit)(const mw_leak_block_t *block)) {
	visitor_t visitor = {reached, visit};
	visit_pages(visit_blocks, &visitor);
	for (size_t i = 0; i < leak_index.blocks.count; i++) {
		const mw_leak_block_t block = outside_block(i);
		if (mw_leak_bit(MW_LEAK_REACHED, block.bit) == reached)
			visit(&block);
	}
}

typedef void count_t(size_t block_bytes, uint64_t blocks);

static void count_page(const mw_page_t *page, uint64_t first, uint32_t blocks, void *context) {
	count_t *const *counter = context;
	const uint64_t *live = leak_index.maps[MW_LEAK_LIVE];
	mw_leak_block_t block;
	uint64_t end = first + blocks, number = 0;
	for (uint64_t bit = first; bit < end; bit = next_word(bit))
		number += (uint64_t)__builtin_popcountll(live[bit / 64] & part_of_word(bit, end));
	if (page->kind != MW_PAGE_SAMPLED) {
		describe(page, first, 0, &block);
		(*counter)(block.bytes, number);
		return;
	}
	for (uint32_t i = 0; i < blocks; i++) {
		describe(page, first, i, &block);
		if (mw_leak_bit(MW_LEAK_LIVE, first + i))
			(*counter)(block.bytes, 1);
	}
}

void mw_leak_index_count(count_t *count) {
	visit_pages(count_page, &count);
	for (size_t i = 0; i < leak_index.blocks.count; i++)
		count(outside_block(i).bytes, 1);
}

void mw_leak_map_clear(mw_leak_map_t map) {
	memset(leak_index.maps[map], 0, mw_round_up(leak_index.bits, 64) / 8);
}

static void visit_only_page(const mw_page_t *page, uint64_t first, uint32_t blocks, void *context) {
	(void)first, (void)blocks;
	void (**visit)(const mw_page_t *page) = context;
	(*visit)(page);
}

void mw_leak_index_visit_pages(void (*visit)(const mw_page_t *page)) {
	visit_pages(visit_only_page, &visit);
}
