/* SPDX-License-Identifier: MIT
 * sampled.c -- mini-slabs.  Most samples lie in slabs of a larger size: of few sizes, few pages are
 * touched, and what such a place has beyond the block's class is not.  Where few blocks fit, their
 * marks are in the page's metadata.  Else they lie before the first block, the first one's last:
 * only what belongs to carved blocks is touched, so a slab with few samples costs a page.
 *
 * Free blocks are linked through their marks: a block that was free for long is in no
 * cache, and its first miss is better left to run beside all else that a sample takes. */
#include "heap/sampled.h"

#include <string.h>

#include "base/bits.h"
#include "base/check.h"
#include "heap/arena.h"
#include "heap/chunk.h"
#include "heap/misuse.h"
#include "heap/queue.h"
#include "heap/size_class.h"
#include "os/lock.h"
#include "os/map.h"

#define MARK_FREE ((uint32_t)1 << 31)
#define MARK_CLASS_SHIFT MW_SAMPLED_CLASS_SHIFT
#define MARK_NUMBER_MASK MW_SAMPLED_NUMBER_MASK
/* Instead of an index. */
#define MARK_LAST MARK_NUMBER_MASK

_Static_assert(MW_CLASS_COUNT <= MARK_FREE >> MARK_CLASS_SHIFT, "between the two");

static mw_slabs_t slabs_of_class[MW_CLASS_COUNT];

static mw_slabs_t *slabs_of(mw_arena_t *arena, unsigned size_class) {
	return arena ? &arena->slabs[size_class] : &slabs_of_class[size_class];
}

static uint32_t index_of(const mw_page_t *page, const void *block) {
	return mw_class_index(page->size_class, (uint32_t)((const char *)block - page->start));
}

static bool holds_few(size_t block_bytes) {
	return block_bytes >= MW_SLICE_BYTES / MW_PAGE_SAMPLE_MARKS;
}

static bool marks_in_page(const mw_page_t *page) {
	return holds_few(page->block_bytes);
}

/* Defined once the block was carved. */
static uint32_t *mark_at(const mw_page_t *page, size_t index) {
	if (marks_in_page(page))
		return &((mw_page_t *)(uintptr_t)page)->sample_marks[index];
	return (uint32_t *)(void *)page->start - 1 - index;
}

static uint32_t class_bytes(uint32_t mark) {
	return mw_class_bytes[(mark & ~MARK_FREE) >> MARK_CLASS_SHIFT];
}

/* The class of the slabs that samples of this one share with others: 64, 256 or 1024 bytes for tiny
 * ones, then powers of two.  Each is aligned as any smaller class asks for. */
static unsigned shared_class(unsigned size_class) {
	/* The hardened library knows by a freed block's last word how large it was. */
	if (MW_HARDEN_ON)
		return size_class;
	size_t bytes = mw_class_bytes[size_class];
	if (bytes > MW_TINY_MAX_BYTES)
		return mw_class_computed((size_t)1 << (mw_log2_floor(bytes - 1) + 1));
	return mw_class_of_tiny[bytes > 256 ? MW_TINY_MAX_BYTES : bytes > 64 ? 256 : 64];
}

/* As few as leave an eighth of them over, or less, and as a run of the class has at most.  Most
 * slabs hold a sample or two, and what is behind these may hold memory from an earlier life: a run
 * of seven slices for each class would show. */
static unsigned slices_of(unsigned size_class) {
	unsigned most = mw_class_run_slices[size_class], slices = 1;
	while (slices < most &&
	       slices * MW_SLICE_BYTES % mw_class_bytes[size_class] > slices * MW_SLICE_BYTES / 8)
		slices++;
	return slices;
}

static size_t align_of(size_t block_bytes) {
	return block_bytes & -block_bytes;
}

/* Of a slice with its blocks' marks before them. */
static uint32_t capacity_of(size_t block_bytes) {
	size_t each = block_bytes + sizeof(uint32_t);
	return (uint32_t)((MW_SLICE_BYTES - (align_of(block_bytes) - 1)) / each);
}

static uint32_t slab_blocks(unsigned size_class) {
	size_t bytes = mw_class_bytes[size_class];
	if (holds_few(bytes))
		return (uint32_t)(slices_of(size_class) * MW_SLICE_BYTES / bytes);
	return capacity_of(bytes);
}

/* Blocks keep the alignment that their size has in other pages. */
static void lay_out(mw_page_t *page) {
	page->capacity = slab_blocks(page->size_class);
	if (!marks_in_page(page))
		page->start +=
			mw_round_up(page->capacity * sizeof(uint32_t), align_of(page->block_bytes));
}

/* No lock is held: the memory of an arena comes from a program's functions. */
static mw_page_t *make_slab(mw_arena_t *arena, unsigned size_class) {
	unsigned slices = slices_of(size_class);
	mw_page_t *page = arena ? mw_arena_take(arena, slices, 1) : mw_chunk_take(slices, 1);
	if (!page)
		return NULL;
	/* Most of the slice will lie idle: what it holds from an earlier life goes back. */
	page->block_bytes = mw_class_bytes[size_class];
	page->size_class = (uint8_t)size_class;
	if (!arena && !page->zeroed && !marks_in_page(page))
		mw_os_purge(page->start, MW_SLICE_BYTES);
	lay_out(page);
	page->large_bytes = 0;
	page->state = MW_PAGE_QUEUED;
	page->kind = MW_PAGE_SAMPLED;
	mw_tally_add(&mw_tally.pages[size_class], 1);
	if (arena)
		mw_tally_add(&arena->slabs[size_class].made, 1);
	return page;
}

static void *block_at(const mw_page_t *page, size_t index) {
	return page->start + index * page->block_bytes;
}

/* The block's own words serve the hardened library's checks only. */
static void *take_from(mw_page_t *page, unsigned size_class, uint32_t **its_mark) {
	page->used++;
	void *block = page->free;
	uint32_t index = block ? index_of(page, block) : page->carved;
	uint32_t *mark = mark_at(page, index);
	if (!block) {
		block = block_at(page, index);
		page->carved++;
		if (MW_HARDEN_ON)
			mw_harden_carve(page, index, 1, NULL);
	} else {
		uint32_t next = *mark & MARK_NUMBER_MASK;
		page->free = next == MARK_LAST ? NULL : block_at(page, next);
		if (MW_HARDEN_ON)
			(void)mw_link_get(block);
	}
	*mark = size_class << MARK_CLASS_SHIFT;
	*its_mark = mark;
	page->large_bytes += mw_class_bytes[size_class];
	return block;
}

static void put_back(mw_page_t *page, void *block, uint32_t *mark) {
	*mark = MARK_FREE | (*mark & ~MARK_NUMBER_MASK) |
		(page->free ? index_of(page, page->free) : MARK_LAST);
	if (MW_HARDEN_ON)
		mw_link_set(block, NULL);
	page->free = block;
	page->used--;
	page->large_bytes -= class_bytes(*mark);
}

/* The class of the slabs for a block of this one.  Samples share one slab of a size; when that is
 * full there are so many that closer fitting ones pay, as for an arena, all of whose blocks lie in
 * slabs. */
static unsigned slab_class_of(const mw_arena_t *arena, unsigned size_class) {
	if (arena)
		return size_class;
	unsigned shared = shared_class(size_class);
	if (shared == size_class)
		return shared;
	/* Relaxed: a bound that others may pass meanwhile. */
	const mw_slabs_t *slabs = &slabs_of_class[shared];
	uint64_t given = __atomic_load_n(&slabs->given, __ATOMIC_RELAXED);
	uint64_t live = __atomic_load_n(&slabs->taken, __ATOMIC_RELAXED) - given;
	uint32_t blocks = __atomic_load_n(&slabs->blocks, __ATOMIC_RELAXED);
	return live < blocks || blocks == 0 ? shared : size_class;
}

void *mw_sampled_take(mw_arena_t *arena, unsigned size_class, uint32_t **mark) {
	unsigned slab_class = slab_class_of(arena, size_class);
	mw_slabs_t *slabs = slabs_of(arena, slab_class);
	mw_lock_acquire_often(&slabs->lock, MW_RANK_SAMPLED);
	mw_page_t *page = slabs->with_room.first;
	if (!page) {
		mw_lock_release_often(&slabs->lock, MW_RANK_SAMPLED);
		page = make_slab(arena, slab_class);
		if (!page)
			return NULL;
		mw_lock_acquire_often(&slabs->lock, MW_RANK_SAMPLED);
		mw_queue_append(&slabs->with_room, page);
		__atomic_store_n(&slabs->blocks, page->capacity, __ATOMIC_RELAXED);
	}
	void *block = take_from(page, size_class, mark);
	if (page->used == page->capacity) {
		mw_queue_remove(&slabs->with_room, page);
		page->state = MW_PAGE_FULL;
	}
	mw_lock_bump(&slabs->taken, 1);
	mw_lock_release_often(&slabs->lock, MW_RANK_SAMPLED);
	__builtin_prefetch(block, 1);
	return block;
}

uint32_t mw_sampled_bytes(const mw_page_t *page, const void *block) {
	uint32_t index = index_of(page, block);
	/* A wild pointer's may be any. */
	if (index >= __atomic_load_n(&page->carved, __ATOMIC_RELAXED))
		return page->block_bytes;
	return class_bytes(*mark_at(page, index));
}

mw_record_id_t mw_sampled_record(const mw_page_t *page, const void *address) {
	if ((const char *)address < page->start)
		return 0;
	uint32_t index = index_of(page, address);
	if (index >= __atomic_load_n(&page->carved, __ATOMIC_RELAXED))
		return 0;
	uint32_t mark = *mark_at(page, index);
	return mark & MARK_FREE ? 0 : mark & MARK_NUMBER_MASK;
}

int mw_heap_fill_freed = -1;

mw_record_id_t mw_sampled_give(mw_page_t *page, void *block, uint32_t *usable_bytes) {
	uint32_t offset = (uint32_t)((char *)block - page->start);
	mw_slabs_t *slabs = slabs_of(mw_chunk_of(page)->arena, page->size_class);
	mw_lock_acquire_often(&slabs->lock, MW_RANK_SAMPLED);
	/* Marks of blocks that were never carved hold nothing: the slice may be a used one. */
	uint32_t index = index_of(page, block);
	if (!mw_class_divides(page->size_class, offset) || index >= page->carved)
		mw_misuse_misaligned(mw_misuse_function(), block, page);
	uint32_t *mark = mark_at(page, index);
	mw_record_id_t record = *mark & MARK_NUMBER_MASK;
	if (*mark & MARK_FREE)
		mw_misuse_free_again(page, block);
	*usable_bytes = class_bytes(*mark);
	if (!MW_HARDEN_ON && MW_UNLIKELY(mw_heap_fill_freed >= 0))
		memset(block, mw_heap_fill_freed, *usable_bytes);
	put_back(page, block, mark);
	mw_lock_bump(&slabs->given, 1);
	if (page->state == MW_PAGE_FULL) {
		page->state = MW_PAGE_QUEUED;
		mw_queue_append(&slabs->with_room, page);
	}
	/* The last slab of a class stays, with its memory: samples come and go. */
	bool release = page->used == 0 && slabs->with_room.first != slabs->with_room.last;
	if (release)
		mw_queue_remove(&slabs->with_room, page);
	mw_lock_release_often(&slabs->lock, MW_RANK_SAMPLED);
	if (release)
		mw_chunk_give(page, MW_PAGE_NONE);
	return record;
}

mw_lock_t *mw_sampled_lock(unsigned size_class) {
	return &slabs_of_class[size_class].lock;
}

void mw_sampled_visit_records(mw_page_t *page, void (*visit)(mw_record_id_t record)) {
	for (uint32_t i = 0; i < page->carved; i++) {
		uint32_t mark = *mark_at(page, i);
		if (!(mark & MARK_FREE) && (mark & MARK_NUMBER_MASK))
			visit(mark & MARK_NUMBER_MASK);
	}
}

/* The page may be given back, and be another's, meanwhile: what is read is memory of its chunk, and
 * no class where it is no mark. */
void mw_sampled_count_live(const mw_page_t *page, uint32_t live[MW_CLASS_COUNT]) {
	uint32_t carved = __atomic_load_n(&page->carved, __ATOMIC_RELAXED);
	uint32_t most = slab_blocks(page->size_class);
	for (uint32_t i = 0; i < carved && i < most; i++) {
		uint32_t mark = __atomic_load_n(mark_at(page, i), __ATOMIC_RELAXED);
		uint32_t size_class = mark >> MARK_CLASS_SHIFT; /* beyond all of a free one */
		if (size_class < MW_CLASS_COUNT)
			live[size_class]++;
	}
}

void mw_sampled_fork_prepare(void) {
	for (unsigned i = 0; i < MW_CLASS_COUNT; i++)
		mw_lock_fork_acquire(&slabs_of_class[i].lock);
}

void mw_sampled_fork_release(bool in_child) {
	for (unsigned i = 0; i < MW_CLASS_COUNT; i++)
		mw_lock_fork_release(&slabs_of_class[i].lock, in_child);
}
