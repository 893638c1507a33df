/* SPDX-License-Identifier: MIT
 * mi_heap_alloc.c -- mimalloc's functions that allocate and resize blocks of a heap. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "compat/mimalloc/mi_heap.h"

/* ---- the fast path and the slow path ---- */

/* NULL: there is no list, or it is empty. */
MW_ALWAYS_INLINE void *pop(mi_heap_t *heap, size_t bytes) {
	const mw_compat_calls_t *calls = mw_mi_calls();
	return heap->lists ? calls->arenas.alloc_listed_at_once(heap->lists, bytes)
			   : calls->blocks.alloc_at_once(bytes);
}

static MW_NOINLINE void *alloc_slow(mi_heap_t *heap, size_t bytes, size_t align, bool zero) {
	mw_mi_beat(false);
	const mw_compat_calls_t *calls = mw_mi_calls();
	void *block = NULL;
	size_t zeroed = 0;
	if (align <= MW_BLOCK_ALIGN && heap->lists)
		block = calls->arenas.alloc_listed(heap->lists, bytes);
	if (!block) {
		block = calls->blocks.alloc_in(heap->number, align, bytes, zero);
		zeroed = bytes;
	}
	if (!block)
		mw_mi_error(ENOMEM, "no memory for %zu bytes in a heap", bytes);
	else if (zero)
		calls->blocks.zero_rest(block, zeroed);
	return block;
}

void *mw_mi_heap_alloc(mi_heap_t *heap, size_t bytes, size_t align, bool zero) {
	void *block = MW_LIKELY(align <= MW_BLOCK_ALIGN) ? pop(heap, bytes) : NULL;
	if (MW_UNLIKELY(!block))
		return alloc_slow(heap, bytes, align, zero);
	if (zero)
		mw_mi_blocks()->zero_rest(block, 0);
	return block;
}

static void *alloc_zeroed(mi_heap_t *heap, size_t bytes) {
	return mw_mi_heap_alloc(heap, bytes, MW_BLOCK_ALIGN, true);
}

/* ---- allocate ---- */

void *mi_heap_malloc(mi_heap_t *heap, size_t size) {
	void *block = pop(heap, size);
	return MW_LIKELY(block != NULL) ? block : alloc_slow(heap, size, MW_BLOCK_ALIGN, false);
}

void *mi_heap_malloc_small(mi_heap_t *heap, size_t size) {
	return mi_heap_malloc(heap, size);
}

void *mi_heap_zalloc(mi_heap_t *heap, size_t size) {
	return alloc_zeroed(heap, size);
}

void *mi_heap_zalloc_small(mi_heap_t *heap, size_t size) {
	return alloc_zeroed(heap, size);
}

void *mi_heap_calloc(mi_heap_t *heap, size_t count, size_t size) {
	size_t bytes;
	return mw_mi_multiply(count, size, &bytes) ? alloc_zeroed(heap, bytes) : NULL;
}

void *mi_heap_mallocn(mi_heap_t *heap, size_t count, size_t size) {
	size_t bytes;
	return mw_mi_multiply(count, size, &bytes) ? mi_heap_malloc(heap, bytes) : NULL;
}

void *mi_heap_malloc_aligned(mi_heap_t *heap, size_t size, size_t alignment) {
	return mw_mi_alloc_aligned(heap, size, alignment, 0, false);
}

void *mi_heap_malloc_aligned_at(mi_heap_t *heap, size_t size, size_t alignment, size_t offset) {
	return mw_mi_alloc_aligned(heap, size, alignment, offset, false);
}

void *mi_heap_zalloc_aligned(mi_heap_t *heap, size_t size, size_t alignment) {
	return mw_mi_alloc_aligned(heap, size, alignment, 0, true);
}

void *mi_heap_zalloc_aligned_at(mi_heap_t *heap, size_t size, size_t alignment, size_t offset) {
	return mw_mi_alloc_aligned(heap, size, alignment, offset, true);
}

void *mi_heap_calloc_aligned(mi_heap_t *heap, size_t count, size_t size, size_t alignment) {
	return mi_heap_calloc_aligned_at(heap, count, size, alignment, 0);
}

void *mi_heap_calloc_aligned_at(mi_heap_t *heap, size_t count, size_t size, size_t alignment,
				size_t offset) {
	size_t bytes;
	if (!mw_mi_multiply(count, size, &bytes))
		return NULL;
	return mw_mi_alloc_aligned(heap, bytes, alignment, offset, true);
}

/* ---- resize ---- */

static void *resize(mi_heap_t *heap, void *p, size_t bytes, bool zero) {
	return mw_mi_resize_aligned(heap, p, bytes, MW_BLOCK_ALIGN, 0, zero);
}

void *mi_heap_realloc(mi_heap_t *heap, void *p, size_t newsize) {
	return resize(heap, p, newsize, false);
}

void *mi_heap_reallocn(mi_heap_t *heap, void *p, size_t count, size_t size) {
	size_t bytes;
	return mw_mi_multiply(count, size, &bytes) ? resize(heap, p, bytes, false) : NULL;
}

void *mi_heap_reallocf(mi_heap_t *heap, void *p, size_t newsize) {
	void *resized = resize(heap, p, newsize, false);
	if (!resized)
		mw_mi_blocks()->free(p);
	return resized;
}

void *mi_heap_rezalloc(mi_heap_t *heap, void *p, size_t newsize) {
	return resize(heap, p, newsize, true);
}

void *mi_heap_recalloc(mi_heap_t *heap, void *p, size_t newcount, size_t size) {
	size_t bytes;
	return mw_mi_multiply(newcount, size, &bytes) ? resize(heap, p, bytes, true) : NULL;
}

void *mi_heap_realloc_aligned(mi_heap_t *heap, void *p, size_t newsize, size_t alignment) {
	return mw_mi_resize_aligned(heap, p, newsize, alignment, 0, false);
}

void *mi_heap_realloc_aligned_at(mi_heap_t *heap, void *p, size_t newsize, size_t alignment,
				 size_t offset) {
	return mw_mi_resize_aligned(heap, p, newsize, alignment, offset, false);
}

void *mi_heap_rezalloc_aligned(mi_heap_t *heap, void *p, size_t newsize, size_t alignment) {
	return mw_mi_resize_aligned(heap, p, newsize, alignment, 0, true);
}

void *mi_heap_rezalloc_aligned_at(mi_heap_t *heap, void *p, size_t newsize, size_t alignment,
				  size_t offset) {
	return mw_mi_resize_aligned(heap, p, newsize, alignment, offset, true);
}

void *mi_heap_recalloc_aligned(mi_heap_t *heap, void *p, size_t newcount, size_t size,
			       size_t alignment) {
	return mi_heap_recalloc_aligned_at(heap, p, newcount, size, alignment, 0);
}

void *mi_heap_recalloc_aligned_at(mi_heap_t *heap, void *p, size_t newcount, size_t size,
				  size_t alignment, size_t offset) {
	size_t bytes;
	if (!mw_mi_multiply(newcount, size, &bytes))
		return NULL;
	return mw_mi_resize_aligned(heap, p, bytes, alignment, offset, true);
}

/* ---- strings ---- */

static char *copy_of(mi_heap_t *heap, const char *text, size_t length) {
	char *copy = mi_heap_malloc(heap, length + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

char *mi_heap_strdup(mi_heap_t *heap, const char *s) {
	return s ? copy_of(heap, s, strlen(s)) : NULL;
}

char *mi_heap_strndup(mi_heap_t *heap, const char *s, size_t n) {
	return s ? copy_of(heap, s, strnlen(s, n)) : NULL;
}

char *mi_heap_realpath(mi_heap_t *heap, const char *fname, char *resolved_name) {
	if (resolved_name)
		return realpath(fname, resolved_name);
	char path[PATH_MAX];
	return realpath(fname, path) ? mi_heap_strdup(heap, path) : NULL;
}

/* ---- mimalloc 3: the heap of a thread.  In mallow a heap serves all threads, so both types are
 * the same. ---- */

static mi_heap_t *heap_of(mi_theap_t *theap) {
	return (mi_heap_t *)theap;
}

mi_theap_t *mi_heap_theap(mi_heap_t *heap) {
	return (mi_theap_t *)heap;
}

mi_theap_t *mi_theap_get_default(void) {
	return mi_heap_theap(mi_heap_get_default());
}

mi_theap_t *mi_theap_set_default(mi_theap_t *theap) {
	return mi_heap_theap(mi_heap_set_default(heap_of(theap)));
}

void mi_theap_collect(mi_theap_t *theap, bool force) {
	mi_heap_collect(heap_of(theap), force);
}

void *mi_theap_malloc(mi_theap_t *theap, size_t size) {
	return mi_heap_malloc(heap_of(theap), size);
}

void *mi_theap_malloc_small(mi_theap_t *theap, size_t size) {
	return mi_heap_malloc(heap_of(theap), size);
}

void *mi_theap_zalloc(mi_theap_t *theap, size_t size) {
	return alloc_zeroed(heap_of(theap), size);
}

void *mi_theap_zalloc_small(mi_theap_t *theap, size_t size) {
	return alloc_zeroed(heap_of(theap), size);
}

void *mi_theap_calloc(mi_theap_t *theap, size_t count, size_t size) {
	return mi_heap_calloc(heap_of(theap), count, size);
}

void *mi_theap_malloc_aligned(mi_theap_t *theap, size_t size, size_t alignment) {
	return mw_mi_alloc_aligned(heap_of(theap), size, alignment, 0, false);
}

void *mi_theap_realloc(mi_theap_t *theap, void *p, size_t newsize) {
	return resize(heap_of(theap), p, newsize, false);
}
