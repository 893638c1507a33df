/* SPDX-License-Identifier: MIT
 * fast.h -- the two fast paths, inlined into malloc(), free() and their kin.
 * Layer: heap.  Nothing here knows of sampling, statistics or options: scripts check the
 * disassembly and count the instructions. */
#ifndef MW_HEAP_FAST_H
#define MW_HEAP_FAST_H

#include "heap/heap.h"

/* A block of the class, or NULL when the list is empty. */
MW_ALWAYS_INLINE void *mw_fast_pop(unsigned size_class) {
	void **head = &mw_thread.heads[size_class];
	void *block = *head;
	if (MW_LIKELY(block != NULL)) {
		void *next = mw_link_get(block);
		*head = next;
		__builtin_prefetch(next); /* its link is the next pop's cache miss */
	}
	return block;
}

/* Above tiny.  Also NULL when the object is to be sampled: free() pushes onto these heads as well,
 * so what they hold does not tell. */
MW_ALWAYS_INLINE void *mw_fast_pop_stack(unsigned size_class) {
	void **head = &mw_thread.heads[size_class];
	void *block = *head;
	if (MW_UNLIKELY(block == NULL) ||
	    MW_UNLIKELY(--mw_thread.until_sample[size_class - MW_TINY_CLASSES] == 0))
		return NULL;
	*head = mw_link_get(block);
	mw_thread.room[size_class]++;
	return block;
}

/* A block of a small size; NULL: take the slow path, which looks at the rest. */
MW_ALWAYS_INLINE void *mw_fast_alloc(size_t bytes) {
	if (MW_LIKELY(bytes <= MW_TINY_MAX_BYTES))
		return mw_fast_pop(mw_class_of_tiny[bytes]);
	if (MW_UNLIKELY(bytes > MW_SMALL_MAX_BYTES))
		return NULL;
	return mw_fast_pop_stack(mw_class_computed(bytes));
}

/* `align` is a power of two.  A block of the class that holds the size rounded up to it, if that
 * class is small and its blocks are aligned so; NULL: take the slow path. */
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
						       : mw_fast_pop_stack(size_class);
}

/* Shrinking in place keeps a block while at least half of it is used: less would pin memory. */
MW_ALWAYS_INLINE bool mw_fast_keeps(size_t usable_bytes, size_t bytes) {
	return bytes <= usable_bytes && bytes >= usable_bytes / 2;
}

/* Whether realloc() leaves the block where it is, as far as that is seen at once. */
MW_ALWAYS_INLINE bool mw_fast_resize(const void *block, size_t bytes) {
	uintptr_t address = (uintptr_t)block;
	if (MW_UNLIKELY(mw_word_kind(address) != MW_MAP_CHUNK || address % MW_BLOCK_ALIGN != 0))
		return false;
	const mw_page_t *page = mw_page_of_slice(address);
	/* A chunk's own record is no page: its kind reads as none. */
	return page->kind == MW_PAGE_SMALL && mw_fast_keeps(page->block_bytes, bytes);
}

MW_ALWAYS_INLINE bool mw_fast_owns(mw_page_t *page) {
	uintptr_t self = (uintptr_t)__builtin_thread_pointer();
	return atomic_load_explicit(&page->owner, memory_order_relaxed) == self;
}

/* The same of a page with blocks above tiny. */
MW_ALWAYS_INLINE bool mw_fast_owns_stack(mw_page_t *page) {
	uintptr_t self = (uintptr_t)__builtin_thread_pointer();
	return atomic_load_explicit(&page->owner, memory_order_relaxed) - MW_OWNER_STACK == self;
}

/* Finds the page of a block in a chunk; false: NULL, foreign pointers and huge blocks. */
MW_ALWAYS_INLINE bool mw_fast_page(void *block, mw_page_t **page) {
	/* The upper bits are shifted out: whatever word a program takes for a pointer, the map is
	 * read within its bounds. */
	enum { UNUSED_BITS = 64 - MW_ADDRESS_BITS };
	uintptr_t chunk = (uintptr_t)block << UNUSED_BITS >> (UNUSED_BITS + MW_CHUNK_SHIFT);
	if (MW_UNLIKELY(mw_address_map[chunk] != MW_MAP_CHUNK))
		return false;
	/* Shifted back rather than masked from `block`: one instruction less.  The empty statement
	 * keeps the compiler from seeing that it is the same. */
	__asm__("" : "+r"(chunk));
	*page = mw_page_in_chunk(chunk << MW_CHUNK_SHIFT, (uintptr_t)block);
	return true;
}

/* The same of an own tiny block; false: for the slow path.  One compare answers for every page that
 * is not an ordinary one of this thread. */
MW_ALWAYS_INLINE bool mw_fast_own_page(void *block, mw_page_t **page) {
	return mw_fast_page(block, page) && MW_LIKELY(mw_fast_owns(*page));
}

/* A linked block.  Pushing onto the page, not onto the head, keeps the head's length known: it is
 * only drained. */
MW_ALWAYS_INLINE void mw_fast_push(mw_page_t *page, void *block) {
	page->free = block;
	if (MW_UNLIKELY(--page->used == 0))
		mw_heap_page_emptied(page);
}

/* Of an own page; false: it is the block that was freed last. */
MW_ALWAYS_INLINE bool mw_fast_put(mw_page_t *page, void *block) {
	void *next = page->free;
	if (MW_UNLIKELY(next == block))
		return false;
	mw_link_set(block, next);
	mw_fast_push(page, block);
	return true;
}

MW_ALWAYS_INLINE bool mw_fast_free_own(void *block) {
	mw_page_t *page;
	return mw_fast_own_page(block, &page) && mw_fast_put(page, block);
}

MW_ALWAYS_INLINE void mw_fast_free(void *block) {
	mw_page_t *page;
	if (MW_UNLIKELY(!mw_fast_page(block, &page)))
		mw_heap_free_slow(block);
	else if (MW_UNLIKELY(!mw_fast_owns(page)))
		mw_fast_owns_stack(page) ? mw_heap_free_stack(block, page)
					 : mw_heap_free_diverted(block, page);
	else if (MW_UNLIKELY(!mw_fast_put(page, block)))
		mw_heap_free_slow(block);
}

#endif
