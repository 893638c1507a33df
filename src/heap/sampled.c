/* SPDX-License-Identifier: MIT
 * sampled.c -- mini-slabs.  Where few blocks fit, their record ids are in the page's
 * metadata.  Else they lie before the first block, the first one's last: only what belongs to
 * carved blocks is touched, so a slab with few samples costs a page.
 *
 * Free blocks are linked through the places of their ids: a block that was free for long is in no
 * cache, and its first miss is better left to run beside all else that a sample takes. */
#include "heap/sampled.h"

#include "base/bits.h"
#include "heap/arena.h"
#include "heap/chunk.h"
#include "heap/misuse.h"
#include "heap/queue.h"
#include "heap/size_class.h"
#include "os/lock.h"
#include "os/map.h"

/* In the table: set for a free block, above the next one's index; numbers of records stay below it.
 */
#define ID_FREE ((mw_record_id_t)1 << 31)
#define ID_LAST (ID_FREE - 1)

static mw_slabs_t slabs_of_class[MW_CLASS_COUNT];

static mw_slabs_t *slabs_of(mw_arena_t *arena, unsigned size_class) {
	return arena ? &arena->slabs[size_class] : &slabs_of_class[size_class];
}

static size_t index_of(const mw_page_t *page, const void *block) {
	/* 32 bits: within a slab, and a faster division. */
	return (uint32_t)((const char *)block - page->start) / page->block_bytes;
}

static bool ids_in_page(const mw_page_t *page) {
	return page->block_bytes >= MW_SLICE_BYTES / MW_PAGE_SAMPLE_IDS;
}

/* Defined once the block was carved. */
static mw_record_id_t *record_id(mw_page_t *page, size_t index) {
	if (ids_in_page(page))
		return &page->sample_ids[index];
	return (mw_record_id_t *)(void *)page->start - 1 - index;
}

/* As many as a run of the class has, if a page's metadata has room for the ids of so many blocks.
 */
static unsigned slices_of(unsigned size_class) {
	unsigned slices = mw_class_run_slices[size_class];
	size_t blocks = slices * MW_SLICE_BYTES / mw_class_bytes[size_class];
	return blocks <= MW_PAGE_SAMPLE_IDS ? slices : 1;
}

/* Blocks keep the alignment that their size has in other pages. */
static void lay_out(mw_page_t *page) {
	if (ids_in_page(page)) {
		page->capacity = (uint32_t)(page->slice_count * MW_SLICE_BYTES / page->block_bytes);
		return;
	}
	size_t align = page->block_bytes & -page->block_bytes;
	size_t each = page->block_bytes + sizeof(mw_record_id_t);
	page->capacity = (uint32_t)((MW_SLICE_BYTES - (align - 1)) / each);
	page->start += mw_round_up(page->capacity * sizeof(mw_record_id_t), align);
}

/* No lock is held: the memory of an arena comes from a program's functions. */
static mw_page_t *make_slab(mw_arena_t *arena, unsigned size_class) {
	unsigned slices = slices_of(size_class);
	mw_page_t *page = arena ? mw_arena_take(arena, slices, 1) : mw_chunk_take(slices, 1);
	if (!page)
		return NULL;
	/* Most of the slice will lie idle: what it holds from an earlier life goes back. */
	page->block_bytes = mw_class_bytes[size_class];
	if (!arena && !page->zeroed && !ids_in_page(page))
		mw_os_purge(page->start, MW_SLICE_BYTES);
	lay_out(page);
	page->size_class = (uint8_t)size_class;
	page->state = MW_PAGE_QUEUED;
	page->kind = MW_PAGE_SAMPLED;
	return page;
}

static void *block_at(const mw_page_t *page, size_t index) {
	return page->start + index * page->block_bytes;
}

/* The block's own words serve the hardened library's checks only. */
static void *take_from(mw_page_t *page) {
	page->used++;
	void *block = page->free;
	if (!block) {
		block = block_at(page, page->carved++);
		if (MW_HARDEN_ON)
			mw_harden_carve(page, page->carved - 1, 1, NULL);
	} else {
		mw_record_id_t next = *record_id(page, index_of(page, block)) & ~ID_FREE;
		page->free = next == ID_LAST ? NULL : block_at(page, next);
		if (MW_HARDEN_ON)
			(void)mw_link_get(block);
	}
	*record_id(page, index_of(page, block)) = 0;
	return block;
}

static void put_back(mw_page_t *page, void *block, mw_record_id_t *id) {
	*id = ID_FREE | (page->free ? (mw_record_id_t)index_of(page, page->free) : ID_LAST);
	if (MW_HARDEN_ON)
		mw_link_set(block, NULL);
	page->free = block;
	page->used--;
}

void *mw_sampled_take(mw_arena_t *arena, unsigned size_class) {
	mw_slabs_t *slabs = slabs_of(arena, size_class);
	mw_lock_acquire(&slabs->lock, MW_RANK_SAMPLED);
	mw_page_t *page = slabs->with_room.first;
	if (!page) {
		mw_lock_release(&slabs->lock, MW_RANK_SAMPLED);
		page = make_slab(arena, size_class);
		if (!page)
			return NULL;
		mw_lock_acquire(&slabs->lock, MW_RANK_SAMPLED);
		mw_queue_append(&slabs->with_room, page);
	}
	void *block = take_from(page);
	if (page->used == page->capacity) {
		mw_queue_remove(&slabs->with_room, page);
		page->state = MW_PAGE_FULL;
	}
	mw_lock_bump(&slabs->taken, 1);
	mw_lock_release(&slabs->lock, MW_RANK_SAMPLED);
	__builtin_prefetch(block, 1);
	return block;
}

void mw_sampled_bind(void *block, mw_record_id_t record) {
	mw_page_t *page = mw_page_first(mw_page_of_slice((uintptr_t)block));
	/* Only the thread that is making the block knows it yet. */
	*record_id(page, index_of(page, block)) = record;
}

mw_record_id_t mw_sampled_give(mw_page_t *page, void *block) {
	size_t offset = (size_t)((char *)block - page->start);
	mw_slabs_t *slabs = slabs_of(mw_chunk_of(page)->arena, page->size_class);
	mw_lock_acquire(&slabs->lock, MW_RANK_SAMPLED);
	/* Ids of blocks that were never carved hold nothing: the slice may be a used one. */
	if (offset % page->block_bytes != 0 || offset / page->block_bytes >= page->carved)
		mw_misuse_misaligned(mw_misuse_function(), block, page);
	mw_record_id_t *id = record_id(page, offset / page->block_bytes);
	mw_record_id_t record = *id;
	if (record & ID_FREE)
		mw_misuse_double_free(mw_misuse_function(), block, page);
	put_back(page, block, id);
	mw_lock_bump(&slabs->given, 1);
	if (page->state == MW_PAGE_FULL) {
		page->state = MW_PAGE_QUEUED;
		mw_queue_append(&slabs->with_room, page);
	}
	/* The last slab of a class stays, with its memory: samples come and go. */
	bool release = page->used == 0 && slabs->with_room.first != slabs->with_room.last;
	if (release)
		mw_queue_remove(&slabs->with_room, page);
	mw_lock_release(&slabs->lock, MW_RANK_SAMPLED);
	if (release)
		mw_chunk_give(page, MW_PAGE_NONE);
	return record;
}

mw_lock_t *mw_sampled_lock(unsigned size_class) {
	return &slabs_of_class[size_class].lock;
}

void mw_sampled_visit_records(mw_page_t *page, void (*visit)(mw_record_id_t record)) {
	for (uint32_t i = 0; i < page->carved; i++) {
		mw_record_id_t record = *record_id(page, i);
		if (record != 0 && !(record & ID_FREE))
			visit(record);
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
