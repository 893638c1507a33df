/* SPDX-License-Identifier: MIT
 * libc.c -- libc's malloc family, with glibc's behaviour where the standards leave a choice. */
#include "api/libc.h"

#include <errno.h>
#include <string.h>

#include "api/alloc.h"
#include "base/bits.h"
#include "base/check.h"
#include "heap/core/resize.h"
#include "heap/memory/chunk.h"
#include "heap/thread/maintain.h"
#include "os/memory/map.h"

void *malloc(size_t bytes) {
	void *block = mw_api_alloc_fast(bytes);
	if (MW_LIKELY(block != NULL))
		return block;
	return mw_api_alloc(bytes);
}

void free(void *block) {
	mw_api_free(block);
}

void free_sized(void *block, size_t bytes) {
	mw_api_free_claimed(block, bytes, MW_NO_CLAIM, "free_sized");
}

void free_aligned_sized(void *block, size_t align, size_t bytes) {
	mw_api_free_claimed(block, bytes, align, "free_aligned_sized");
}

void *calloc(size_t count, size_t each_bytes) {
	size_t bytes;
	if (MW_UNLIKELY(__builtin_mul_overflow(count, each_bytes, &bytes)))
		return mw_api_no_memory();
	void *block = mw_api_alloc_fast(bytes);
	if (MW_LIKELY(block != NULL))
		return mw_harden_gives_zeros(bytes) ? block : memset(block, 0, bytes);
	return mw_api_alloc_zeroed(bytes);
}

void *realloc(void *block, size_t bytes) {
	if (!block)
		return malloc(bytes);
	if (bytes == 0)
		return mw_api_realloc_zero(block);
	if (MW_HARDEN_ON ? MW_LIKELY(mw_harden_resize_in_place(block, bytes) != NULL)
			 : MW_LIKELY(mw_fast_resize(block, bytes)))
		return block;
	return mw_api_realloc(block, bytes);
}

void *reallocarray(void *block, size_t count, size_t each_bytes) {
	size_t bytes;
	if (__builtin_mul_overflow(count, each_bytes, &bytes))
		return mw_api_no_memory();
	return realloc(block, bytes);
}

int posix_memalign(void **result, size_t align, size_t bytes) {
	if (!mw_is_pow2(align) || align % sizeof(void *) != 0)
		return EINVAL;
	void *block = mw_api_aligned_fast(align, bytes);
	if (MW_UNLIKELY(!block))
		block = mw_api_alloc_aligned(align, bytes);
	/* errno is ENOMEM, as in glibc; POSIX allows that. */
	if (MW_UNLIKELY(!block))
		return ENOMEM;
	*result = block;
	return 0;
}

void *aligned_alloc(size_t align, size_t bytes) {
	if (!mw_is_pow2(align)) {
		errno = EINVAL;
		return NULL;
	}
	return mw_api_aligned(align, bytes);
}

void *memalign(size_t align, size_t bytes) {
	/* An alignment is rounded up to a power of two, as in glibc. */
	if (align > ((size_t)1 << 62)) {
		errno = EINVAL;
		return NULL;
	}
	if (!mw_is_pow2(align))
		align = align == 0 ? 1 : (size_t)1 << (mw_log2_floor(align) + 1);
	return mw_api_aligned(align, bytes);
}

void *valloc(size_t bytes) {
	return memalign(mw_os_page_bytes(), bytes);
}

void *pvalloc(size_t bytes) {
	if (bytes > PTRDIFF_MAX)
		return mw_api_no_memory();
	return memalign(mw_os_page_bytes(), mw_os_whole_pages(bytes ? bytes : 1));
}

size_t malloc_usable_size(void *block) {
	if (!block)
		return 0;
	return MW_HARDEN_ON ? mw_harden_usable_bytes(block) : mw_heap_usable_bytes(block);
}

int malloc_trim(size_t pad_bytes) {
	(void)pad_bytes; /* no memory is kept at the top of a heap: there is none */
	size_t bytes = mw_heap_trim();
	/* The program may need the address space for thread stacks and mappings of its own. */
	return bytes + mw_chunk_unmap_free() > 0;
}
