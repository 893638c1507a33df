/* SPDX-License-Identifier: MIT
 * aligned.c -- mimalloc's functions that take an alignment. */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "compat/mimalloc/mi_heap.h"
#include "os/memory/map.h"

static void *refuse(size_t align, size_t offset) {
	mw_mi_error(EINVAL,
		    "alignment %zu is not a power of two, or offset %zu not a multiple of it",
		    align, offset);
	errno = EINVAL;
	return NULL;
}

void *mw_mi_alloc_aligned(mi_heap_t *heap, size_t bytes, size_t align, size_t offset, bool zero) {
	if (MW_UNLIKELY(!mw_is_pow2(align) || offset % align != 0))
		return refuse(align, offset);
	return heap ? mw_mi_heap_alloc(heap, bytes, align, zero) : mw_mi_alloc(bytes, align, zero);
}

static bool is_aligned(const void *block, size_t align, size_t offset) {
	return (((uintptr_t)block + offset) & (align - 1)) == 0;
}

void *mw_mi_resize_aligned(mi_heap_t *heap, void *block, size_t bytes, size_t align, size_t offset,
			   bool zero) {
	if (!block)
		return mw_mi_alloc_aligned(heap, bytes, align, offset, zero);
	if (!mw_is_pow2(align))
		return refuse(align, offset);
	if (!heap && align <= MW_BLOCK_ALIGN && offset % align == 0)
		return mw_mi_resize(block, bytes, zero);
	size_t before = mw_mi_usable(block);
	if (is_aligned(block, align, offset) &&
	    mw_mi_blocks()->shrink_stays(before, bytes, align)) {
		if (zero)
			mw_mi_blocks()->zero_rest(block, bytes);
		return block;
	}
	void *moved = mw_mi_alloc_aligned(heap, bytes, align, offset, zero);
	if (!moved)
		return NULL;
	memcpy(moved, block, before < bytes ? before : bytes);
	mw_mi_blocks()->free(block);
	return moved;
}

/* ---- allocate ---- */

void *mi_malloc_aligned(size_t size, size_t alignment) {
	return mw_mi_alloc_aligned(NULL, size, alignment, 0, false);
}

void *mi_malloc_aligned_at(size_t size, size_t alignment, size_t offset) {
	return mw_mi_alloc_aligned(NULL, size, alignment, offset, false);
}

void *mi_zalloc_aligned(size_t size, size_t alignment) {
	return mw_mi_alloc_aligned(NULL, size, alignment, 0, true);
}

void *mi_zalloc_aligned_at(size_t size, size_t alignment, size_t offset) {
	return mw_mi_alloc_aligned(NULL, size, alignment, offset, true);
}

void *mi_calloc_aligned(size_t count, size_t size, size_t alignment) {
	return mi_calloc_aligned_at(count, size, alignment, 0);
}

void *mi_calloc_aligned_at(size_t count, size_t size, size_t alignment, size_t offset) {
	size_t bytes;
	if (!mw_mi_multiply(count, size, &bytes))
		return NULL;
	return mw_mi_alloc_aligned(NULL, bytes, alignment, offset, true);
}

/* ---- resize ---- */

void *mi_realloc_aligned(void *p, size_t newsize, size_t alignment) {
	return mw_mi_resize_aligned(NULL, p, newsize, alignment, 0, false);
}

void *mi_realloc_aligned_at(void *p, size_t newsize, size_t alignment, size_t offset) {
	return mw_mi_resize_aligned(NULL, p, newsize, alignment, offset, false);
}

void *mi_rezalloc_aligned(void *p, size_t newsize, size_t alignment) {
	return mw_mi_resize_aligned(NULL, p, newsize, alignment, 0, true);
}

void *mi_rezalloc_aligned_at(void *p, size_t newsize, size_t alignment, size_t offset) {
	return mw_mi_resize_aligned(NULL, p, newsize, alignment, offset, true);
}

void *mi_recalloc_aligned(void *p, size_t newcount, size_t size, size_t alignment) {
	return mi_recalloc_aligned_at(p, newcount, size, alignment, 0);
}

void *mi_recalloc_aligned_at(void *p, size_t newcount, size_t size, size_t alignment,
			     size_t offset) {
	size_t bytes;
	if (!mw_mi_multiply(newcount, size, &bytes))
		return NULL;
	return mw_mi_resize_aligned(NULL, p, bytes, alignment, offset, true);
}

/* Microsoft's names for these. */
void *mi_aligned_recalloc(void *p, size_t newcount, size_t size, size_t alignment) {
	return mi_recalloc_aligned_at(p, newcount, size, alignment, 0);
}

void *mi_aligned_offset_recalloc(void *p, size_t newcount, size_t size, size_t alignment,
				 size_t offset) {
	return mi_recalloc_aligned_at(p, newcount, size, alignment, offset);
}

/* ---- POSIX and BSD: the alignment precedes the size ---- */

int mi_posix_memalign(void **p, size_t alignment, size_t size) {
	if (!p || alignment % sizeof(void *) != 0 || !mw_is_pow2(alignment))
		return EINVAL;
	void *block = mw_mi_alloc(size, alignment, false);
	if (!block)
		return ENOMEM;
	*p = block;
	return 0;
}

void *mi_memalign(size_t alignment, size_t size) {
	return mw_mi_alloc_aligned(NULL, size, alignment, 0, false);
}

void *mi_aligned_alloc(size_t alignment, size_t size) {
	return mw_mi_alloc_aligned(NULL, size, alignment, 0, false);
}

void *mi_valloc(size_t size) {
	return mw_mi_alloc(size, mw_os_page_bytes(), false);
}

void *mi_pvalloc(size_t size) {
	if (size > PTRDIFF_MAX)
		return mw_mi_blocks()->no_memory();
	return mw_mi_alloc(mw_os_whole_pages(size), mw_os_page_bytes(), false);
}
