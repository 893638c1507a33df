/* SPDX-License-Identifier: MIT
 * sampled.c -- sampled-slot pages.
 *
 * Most samples lie in slots of a larger size than theirs: with few sizes, few pages are touched,
 * and the part of a slot beyond the block is not.  Where few slots fit, their marks are in the
 * page's metadata.  Otherwise the marks lie before the first slot, the first slot's mark last: only
 * the marks of carved slots are touched, so a page with few samples costs one kernel page.
 *
 * Free slots are linked through their marks: a slot that was free for long is in no processor
 * cache, and its first cache miss then overlaps with the other work for a sample. */
#include "heap/sample/sampled.h"

#include "base/bits.h"
#include "base/check.h"
#include "heap/arena/arena.h"
#include "heap/layout/counters.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/queue.h"
#include "heap/layout/record.h"
#include "heap/layout/size_class.h"
#include "heap/layout/slabs.h"
#include "heap/local/harden_lists.h"
#include "heap/memory/chunk.h"
#include "heap/misuse/misuse.h"
#include "heap/sample/sampled_mark.h"
#include "heap/sample/sampling.h"
#include "os/lock/lock.h"
#include "os/memory/map.h"

static mw_slabs_t slabs_of_class[MW_CLASS_COUNT];

static mw_slabs_t *slabs_of(mw_arena_t *arena, unsigned size_class) {
	return arena ? &arena->slabs[size_class] : &slabs_of_class[size_class];
}

static uint32_t index_of(const mw_page_t *page, const void *block) {
	return mw_class_index(page->size_class, (uint32_t)((const char *)block - page->start));
}

unsigned mw_sampled_apart_class(unsigned size_class) {
	if (MW_HARDEN_ON)
		return size_class;
	size_t slot_bytes = (size_t)1 << (mw_log2_floor(mw_class_bytes[size_class]) + 1);
	return mw_class_of(slot_bytes <= MW_SMALL_MAX_BYTES ? slot_bytes : MW_SMALL_MAX_BYTES);
}

/* 64, 256 or 1024 bytes, then powers of two. */
unsigned mw_sampled_shared_class(unsigned size_class) {
	size_t bytes = mw_class_bytes[size_class];
	if (MW_HARDEN_ON || bytes >= MW_TINY_MAX_BYTES)
		return mw_sampled_apart_class(size_class);
	return mw_class_of_tiny[bytes >= 256 ? MW_TINY_MAX_BYTES : bytes >= 64 ? 256 : 64];
}

/* Returns the slices of a page: the fewest that waste at most an eighth, and at most those of a run
 * of the class.  Most pages hold a sample or two, and the rest may be resident from an
 * earlier use: a run of seven slices for each class would show. */
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

/* Slots of a slice that holds their marks, too. */
static uint32_t capacity_of(size_t block_bytes) {
	size_t each = block_bytes + sizeof(uint32_t);
	return (uint32_t)((MW_SLICE_BYTES - (align_of(block_bytes) - 1)) / each);
}

static uint32_t slab_blocks(unsigned size_class) {
	size_t bytes = mw_class_bytes[size_class];
	if (mw_mark_is_few(bytes))
		return (uint32_t)(slices_of(size_class) * MW_SLICE_BYTES / bytes);
	return capacity_of(bytes);
}

/* Slots keep the alignment that their size has in other pages. */
static void lay_out(mw_page_t *page) {
	page->capacity = slab_blocks(page->size_class);
	if (!mw_mark_is_few(page->block_bytes))
		page->start +=
			mw_round_up(page->capacity * sizeof(uint32_t), align_of(page->block_bytes));
}

/* No lock is held: the memory of an arena comes from a program's functions. */
static mw_page_t *make_slab(mw_arena_t *arena, unsigned size_class) {
	unsigned slices = slices_of(size_class);
	mw_page_t *page = arena ? mw_arena_take(arena, slices, 1) : mw_chunk_take(slices, 1);
	if (!page)
		return NULL;
	page->block_bytes = mw_class_bytes[size_class];
	page->size_class = (uint8_t)size_class;
	/* In most programs the first page of a class holds a few samples: memory from the slice's
	 * earlier use goes back to the kernel.  A second page means that the first is full: samples
	 * will fill this one, too.  The count needs no lock: two threads may each make the first.
	 */
	uint32_t blocks = __atomic_load_n(&slabs_of_class[size_class].blocks, __ATOMIC_RELAXED);
	if (blocks == 0 && !arena && !page->zeroed && !mw_mark_is_few(page->block_bytes))
		mw_os_purge(page->start, MW_SLICE_BYTES);
	lay_out(page);
	page->state = MW_PAGE_QUEUED;
	page->kind = MW_PAGE_SAMPLED;
	mw_counters_add(&mw_counters.slabs[size_class], 1);
	if (arena)
		mw_counters_add(&arena->slabs[size_class].made, 1);
	return page;
}

static void *block_at(const mw_page_t *page, size_t index) {
	return page->start + index * page->block_bytes;
}

/* The words of a free block serve only the checks of the hardened library. */
void *mw_sampled_take_from(mw_page_t *page, unsigned size_class, uint32_t **its_mark) {
	page->used++;
	void *block = page->free;
	uint32_t index = block ? index_of(page, block) : page->carved;
	uint32_t *mark = mw_mark_at(page, index);
	if (!block) {
		block = block_at(page, index);
		page->carved++;
		if (MW_HARDEN_ON)
			mw_harden_carve(page, index, 1, NULL);
	} else {
		uint32_t next = *mark & MW_SAMPLED_NUMBER_MASK;
		page->free = next == MW_MARK_LAST ? NULL : block_at(page, next);
		if (MW_HARDEN_ON)
			(void)mw_link_get(block);
	}
	mw_mark_set(mark, size_class << MW_SAMPLED_CLASS_SHIFT);
	*its_mark = mark;
	return block;
}

static void put_back(mw_page_t *page, void *block, uint32_t *mark) {
	mw_mark_set(mark, MW_MARK_FREE | (*mark & ~MW_SAMPLED_NUMBER_MASK) |
				  (page->free ? index_of(page, page->free) : MW_MARK_LAST));
	if (MW_HARDEN_ON)
		mw_link_set(block, NULL);
	page->free = block;
	page->used--;
}

/* Returns the class of the pages for a block of this class.  Samples share one page of a size. When
 * that is full there are so many samples that pages of more sizes pay. All small blocks of an arena
 * lie in such pages, each in one of its own class. */
static unsigned slab_class_of(const mw_arena_t *arena, unsigned size_class) {
	if (arena)
		return size_class;
	unsigned shared = mw_sampled_shared_class(size_class);
	unsigned apart = mw_sampled_apart_class(size_class);
	if (shared == apart)
		return shared;
	/* Relaxed: other threads may exceed this bound in between. */
	const mw_slabs_t *slabs = &slabs_of_class[shared];
	uint64_t given = __atomic_load_n(&slabs->given, __ATOMIC_RELAXED);
	uint64_t live = __atomic_load_n(&slabs->taken, __ATOMIC_RELAXED) - given;
	uint32_t blocks = __atomic_load_n(&slabs->blocks, __ATOMIC_RELAXED);
	return live < blocks || blocks == 0 ? shared : apart;
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
	void *block = mw_sampled_take_from(page, size_class, mark);
	mw_sampled_count_taken(slabs, page, 1);
	mw_lock_release_often(&slabs->lock, MW_RANK_SAMPLED);
	__builtin_prefetch(block, 1);
	return block;
}

uint32_t mw_sampled_bytes(const mw_page_t *page, const void *block) {
	uint32_t index = index_of(page, block);
	/* The index of a wild pointer may be any number. */
	if (index >= __atomic_load_n(&page->carved, __ATOMIC_RELAXED))
		return page->block_bytes;
	return mw_mark_bytes(*mw_mark_at(page, index));
}

mw_record_id_t mw_sampled_record(const mw_page_t *page, const void *address) {
	if ((const char *)address < page->start)
		return 0;
	uint32_t index = index_of(page, address);
	if (index >= __atomic_load_n(&page->carved, __ATOMIC_RELAXED))
		return 0;
	uint32_t mark = __atomic_load_n(mw_mark_at(page, index), __ATOMIC_RELAXED);
	return mark & MW_MARK_FREE ? 0 : mark & MW_SAMPLED_NUMBER_MASK;
}

MW_COLD mw_record_id_t mw_sampled_set_waiting(const mw_page_t *page, const void *block,
					      bool waits) {
	uint32_t *mark = mw_mark_at(page, index_of(page, block));
	mw_record_id_t record = *mark & MW_MARK_FREE ? 0 : *mark & MW_SAMPLED_NUMBER_MASK;
	uint32_t its_class = *mark & ~MW_MARK_FREE & ~MW_SAMPLED_NUMBER_MASK;
	mw_mark_set(mark, its_class | (waits ? MW_MARK_FREE | MW_MARK_LAST : 0));
	return record;
}

MW_COLD size_t mw_misuse_sampled_bytes(const mw_page_t *page, const void *block) {
	return mw_sampled_bytes(page, block);
}

MW_COLD void mw_misuse_show_origin(const mw_page_t *page, const void *block) {
	if (page->kind == MW_PAGE_SAMPLED)
		mw_sampling_show(mw_sampled_record(page, block));
	else if (page->kind == MW_PAGE_LARGE)
		mw_sampling_show(page->large_record);
}

/* With the lock.  True: that was the last block of the page, which is to be given back. */
static bool put_back_locked(mw_slabs_t *slabs, mw_page_t *page, void *block, uint32_t *mark) {
	put_back(page, block, mark);
	mw_lock_bump(&slabs->given, 1);
	if (page->state == MW_PAGE_FULL) {
		page->state = MW_PAGE_QUEUED;
		mw_queue_append(&slabs->with_room, page);
	}
	/* The last page of a class stays, with its memory, because new samples usually follow. */
	bool release = page->used == 0 && slabs->with_room.first != slabs->with_room.last;
	if (release)
		mw_queue_remove(&slabs->with_room, page);
	return release;
}

void mw_sampled_put_back(mw_arena_t *arena, unsigned slab_class, const mw_slot_t *slots,
			 unsigned count) {
	mw_slabs_t *slabs = slabs_of(arena, slab_class);
	mw_page_t *released[MW_SLOT_CACHE_SLOTS];
	unsigned releases = 0;
	MW_ASSERT(count <= MW_SLOT_CACHE_SLOTS);
	mw_lock_acquire_often(&slabs->lock, MW_RANK_SAMPLED);
	for (unsigned i = 0; i < count; i++) {
		mw_page_t *page = mw_page_first(mw_page_of_slice((uintptr_t)slots[i].block));
		if (put_back_locked(slabs, page, slots[i].block, slots[i].mark))
			released[releases++] = page;
	}
	mw_lock_release_often(&slabs->lock, MW_RANK_SAMPLED);
	while (releases > 0)
		mw_arena_or_chunk_give(released[--releases], MW_PAGE_NONE);
}

mw_lock_t *mw_sampled_lock(unsigned size_class) {
	return &slabs_of_class[size_class].lock;
}

void mw_sampled_visit_records(mw_page_t *page, void (*visit)(mw_record_id_t record)) {
	for (uint32_t i = 0; i < page->carved; i++) {
		uint32_t mark = *mw_mark_at(page, i);
		if (!(mark & MW_MARK_FREE) && (mark & MW_SAMPLED_NUMBER_MASK))
			visit(mark & MW_SAMPLED_NUMBER_MASK);
	}
}

/* Counts `blocks` slots whose marks have this upper part: the blocks' class, or of free slots a
 * number beyond all classes. */
static void add_live(mw_sampled_live_t *live, uint32_t *by_class, uint32_t size_class,
		     uint32_t blocks) {
	if (size_class >= MW_CLASS_COUNT)
		return;
	live->blocks += blocks;
	live->bytes += (size_t)blocks * mw_class_bytes[size_class];
	if (by_class)
		by_class[size_class] += blocks;
}

/* Another thread may give the page back at this moment, and use it again.  The words that are read
 * then still belong to the chunk, and a word that is not a mark holds no class.  In most pages
 * neighbours are of one class: they are added at once. */
mw_sampled_live_t mw_sampled_count_live(const mw_page_t *page, uint32_t *by_class) {
	uint32_t carved = __atomic_load_n(&page->carved, __ATOMIC_RELAXED);
	uint32_t most = slab_blocks(page->size_class);
	mw_sampled_live_t live = {0};
	if (carved > most)
		carved = most;
	const uint32_t *mark = mw_mark_at(page, 0);
	ptrdiff_t step = mw_mark_at(page, 1) - mark;
	uint32_t last = MW_CLASS_COUNT, blocks = 0;
	for (uint32_t i = 0; i < carved; i++, mark += step) {
		uint32_t size_class =
			__atomic_load_n(mark, __ATOMIC_RELAXED) >> MW_SAMPLED_CLASS_SHIFT;
		if (size_class != last) {
			add_live(&live, by_class, last, blocks);
			last = size_class;
			blocks = 0;
		}
		blocks++;
	}
	add_live(&live, by_class, last, blocks);
	return live;
}

void mw_sampled_fork_prepare(void) {
	for (unsigned i = 0; i < MW_CLASS_COUNT; i++)
		mw_lock_fork_acquire(&slabs_of_class[i].lock);
}

void mw_sampled_fork_release(bool in_child) {
	for (unsigned i = 0; i < MW_CLASS_COUNT; i++)
		mw_lock_fork_release(&slabs_of_class[i].lock, in_child);
}
