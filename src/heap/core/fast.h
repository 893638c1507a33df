/* SPDX-License-Identifier: MIT
 * fast.h -- the fast paths, inlined into malloc(), free() and their kin.
 * Layer: heap.  They know nothing of sampling, statistics or options: tests/checks/fast_path.py
 * checks the disassembly, and scripts/count_instructions.sh counts the instructions. */
#ifndef MW_HEAP_FAST_H
#define MW_HEAP_FAST_H

#include "heap/core/free.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/size_class.h"
#include "heap/local/batch.h"
#include "heap/local/heap.h"

/* Pops a block of a tiny class; NULL: the list is empty. */
MW_ALWAYS_INLINE void *mw_fast_pop(unsigned size_class) {
	void **head = &mw_thread.tcache_tiny[size_class];
	void *block = *head;
	if (MW_LIKELY(block != NULL)) {
		void *next = mw_link_get(block);
		*head = next;
		__builtin_prefetch(next); /* its link would be the next pop's cache miss */
	}
	return block;
}

/* Pops a block of a class above tiny.  NULL: the list is empty, or the object is to be sampled:
 * free() pushes onto these lists as well, so a list cannot be cut at the sample. */
MW_ALWAYS_INLINE void *mw_fast_pop_above_tiny(unsigned size_class) {
	mw_list_t *list = mw_tcache_of(size_class);
	void *block = list->first;
	if (MW_UNLIKELY(block == NULL) ||
	    MW_UNLIKELY(--mw_thread.until_sample[size_class - MW_TINY_CLASSES] == 0))
		return NULL;
	list->first = mw_link_get(block);
	list->room++;
	return block;
}

/* Pops a block of any class.  NULL: the list is empty, or above tiny the object is to be sampled.
 */
MW_ALWAYS_INLINE void *mw_fast_alloc_class(unsigned size_class) {
	return MW_LIKELY(size_class < MW_TINY_CLASSES) ? mw_fast_pop(size_class)
						       : mw_fast_pop_above_tiny(size_class);
}

/* Allocates a block of a small size; NULL: take the slow path, which handles all other cases. */
MW_ALWAYS_INLINE void *mw_fast_alloc(size_t bytes) {
	if (MW_LIKELY(bytes <= MW_TINY_MAX_BYTES))
		return mw_fast_pop(mw_class_of_tiny[bytes]);
	if (MW_UNLIKELY(bytes > MW_SMALL_MAX_BYTES))
		return NULL;
	return mw_fast_pop_above_tiny(mw_class_computed(bytes));
}

/* Allocates a block of the class that holds the size rounded up to `align`, a power of two.  NULL:
 * take the slow path; the class is not small, or its blocks do not have this alignment. */
MW_ALWAYS_INLINE void *mw_fast_alloc_aligned(size_t align, size_t bytes) {
	if (MW_UNLIKELY(bytes > MW_SMALL_MAX_BYTES || align > MW_SMALL_MAX_BYTES))
		return NULL;
	size_t rounded = (bytes + align - 1) & -align;
	if (MW_UNLIKELY(rounded > MW_SMALL_MAX_BYTES))
		return NULL;
	unsigned size_class = mw_class_of(rounded);
	if (MW_UNLIKELY((mw_class_bytes[size_class] & (align - 1)) != 0))
		return NULL;
	return MW_LIKELY(rounded <= MW_TINY_MAX_BYTES) ? mw_fast_pop(size_class)
						       : mw_fast_pop_above_tiny(size_class);
}

/* Returns whether a block that shrinks stays in place for certain; false: mw_heap_shrink_stays()
 * decides.  At least half of the block must stay used, because a smaller part would pin memory.
 * Where a copy is paid for, only a block of which seven eighths stay used stays at once: the next
 * smaller class is at most that large. */
MW_ALWAYS_INLINE bool mw_fast_keeps(size_t usable_bytes, size_t bytes) {
	return bytes <= usable_bytes &&
	       (MW_LIKELY(bytes > mw_thread.copy_bytes) ? bytes >= usable_bytes / 2
							: bytes > usable_bytes - usable_bytes / 8);
}

/* Returns whether realloc() leaves an ordinary block where it is; false: the slow path decides. */
MW_ALWAYS_INLINE bool mw_fast_resize(const void *block, size_t bytes) {
	uintptr_t address = (uintptr_t)block;
	if (MW_UNLIKELY(mw_word_kind(address) != MW_MAP_CHUNK || address % MW_BLOCK_ALIGN != 0))
		return false;
	const mw_page_t *page = mw_page_of_slice(address);
	/* The chunk's own record is no page: its kind reads as none. */
	return page->kind == MW_PAGE_SMALL && mw_fast_keeps(page->block_bytes, bytes);
}

/* A block's chunk, and the byte offset of its slice's entry in their table. */
typedef struct mw_place_in_chunk {
	uintptr_t chunk, offset;
} mw_place_in_chunk_t;

/* Finds chunk and offset of a block; false: NULL, a foreign pointer or a huge block.  `map`:
 * mw_address_map, or a copy that knows no chunk. */
MW_ALWAYS_INLINE bool mw_fast_place_by(const uint8_t *map, void *block,
				       mw_place_in_chunk_t *place) {
	/* The upper bits are shifted out, so that any word that a program takes for a pointer reads
	 * within the map. */
	enum { UNUSED_BITS = 64 - MW_ADDRESS_BITS };
	uintptr_t chunk = (uintptr_t)block << UNUSED_BITS >> (UNUSED_BITS + MW_CHUNK_SHIFT);
	if (MW_UNLIKELY(map[chunk] != MW_MAP_CHUNK))
		return false;
	/* Shifted back rather than masked from `block`: one instruction less.  The empty statement
	 * hides from the compiler that the result is the same. */
	__asm__("" : "+r"(chunk));
	place->chunk = chunk << MW_CHUNK_SHIFT;
	place->offset = ((uintptr_t)block >> (MW_SLICE_SHIFT - MW_ENTRY_SHIFT)) &
			(MW_CHUNK_PLACE_MASK << MW_ENTRY_SHIFT);
	return true;
}

MW_ALWAYS_INLINE bool mw_fast_place(void *block, mw_place_in_chunk_t *place) {
	return mw_fast_place_by(mw_address_map, block, place);
}

/* Returns the place of a pointer that is known to lie in a chunk. */
MW_ALWAYS_INLINE mw_place_in_chunk_t mw_fast_place_of(const void *block) {
	uintptr_t address = (uintptr_t)block;
	return (mw_place_in_chunk_t){.chunk = address & ~(MW_CHUNK_BYTES - 1),
				     .offset = (address >> (MW_SLICE_SHIFT - MW_ENTRY_SHIFT)) &
					       (MW_CHUNK_PLACE_MASK << MW_ENTRY_SHIFT)};
}

MW_ALWAYS_INLINE mw_entry_t *mw_fast_entry(mw_place_in_chunk_t place) {
	return (mw_entry_t *)(place.chunk + place.offset + MW_CHUNK_ENTRIES_OFFSET);
}

MW_ALWAYS_INLINE mw_page_t *mw_fast_page(mw_place_in_chunk_t place) {
	enum { ENTRY_TO_PAGE = MW_PAGE_META_SHIFT - MW_ENTRY_SHIFT };
	return (mw_page_t *)(place.chunk + (place.offset << ENTRY_TO_PAGE) + MW_CHUNK_PAGES_OFFSET);
}

/* One compare leaves out every page that is not an ordinary one of this thread. */
MW_ALWAYS_INLINE bool mw_fast_is_own(mw_entry_t *entry) {
	uintptr_t self = (uintptr_t)__builtin_thread_pointer();
	return atomic_load_explicit(&entry->owner, memory_order_relaxed) == self;
}

/* Returns the list of an entry that was read already.  The empty statement hides the address, so
 * that neither load needs an instruction to compute it. */
MW_ALWAYS_INLINE mw_list_t *mw_fast_list(mw_place_in_chunk_t place) {
	__asm__("" : "+r"(place.offset));
	return mw_fast_entry(place)->list;
}

/* Counts a push; true: it was the last one that fits.  The compiler keeps the subtraction and its
 * test apart, as two to four instructions. */
MW_ALWAYS_INLINE bool mw_fast_count_push(mw_list_t *list) {
#ifdef __x86_64__
	bool last;
	__asm__("subl $1, %0" : "+m"(list->room), "=@ccle"(last));
	return last;
#else
	return --list->room <= 0;
#endif
}

/* Frees a block of an own page; false: it is the block freed last.  A tiny block goes onto its
 * page's list, not onto the tcache list, whose length stays known because it is only
 * drained.  Other blocks go onto the tcache list: the block freed last is in the processor's
 * cache, and a cold block is a miss for each line. */
MW_ALWAYS_INLINE bool mw_fast_put(mw_list_t *list, void *block) {
	void *next = list->first;
	if (MW_UNLIKELY(next == block))
		return false;
	mw_link_set(block, next);
	list->first = block;
	if (MW_UNLIKELY(mw_fast_count_push(list)))
		mw_heap_free_last(block, list);
	return true;
}

/* Frees a block of another thread's page into the remote-free cache; false: it has no room, and
 * nothing was done. */
MW_ALWAYS_INLINE bool mw_fast_free_remote(mw_place_in_chunk_t place, void *block) {
	/* The empty statement hides the value, so that the compiler computes nothing for this case
	 * on the path of an own block. */
	__asm__("" : "+r"(place.chunk), "+r"(place.offset));
	return mw_remote_add(mw_thread.remote, place.chunk, place.offset, block);
}

/* Frees a block by the fast paths.  False: nothing was done. */
MW_ALWAYS_INLINE bool mw_fast_free_by(const uint8_t *map, void *block) {
	mw_place_in_chunk_t place;
	if (MW_UNLIKELY(!mw_fast_place_by(map, block, &place)))
		return false;
	if (MW_UNLIKELY(!mw_fast_is_own(mw_fast_entry(place))))
		return mw_fast_free_remote(place, block);
	return mw_fast_put(mw_fast_list(place), block);
}

MW_ALWAYS_INLINE void mw_fast_free(void *block) {
	if (MW_UNLIKELY(!mw_fast_free_by(mw_address_map, block)))
		mw_heap_free_slow(block);
}

#endif
