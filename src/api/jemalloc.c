/* SPDX-License-Identifier: MIT
 * jemalloc.c -- jemalloc's functions beyond malloc's.  Tcaches of the flags are accepted, and
 * change nothing: each thread's lists are its own. */
#include "api/jemalloc.h"

#include <errno.h>
#include <string.h>

#include "api/alloc.h"
#include "api/start.h"
#include "base/check.h"
#include "ctl/mallctl.h"
#include "heap/huge.h"

#define FLAG_ALIGN_MASK 0x3f
#define FLAG_ZERO 0x40

void (*malloc_message)(void *context, const char *text);
__attribute__((weak)) const char *malloc_conf;
__attribute__((weak)) const char *malloc_conf_2_conf_harder;

static size_t align_of(int flags) {
	return (size_t)1 << (flags & FLAG_ALIGN_MASK);
}

/* The number above MALLOCX_ARENA()'s bits; 0: the flags name no arena. */
static unsigned arena_bits(int flags) {
	return (unsigned)flags >> 20;
}

/* All that the block can hold is zero: rallocx() with the same flag goes on from there. */
static void *allocate_zeroed(size_t bytes, size_t align, unsigned arena) {
	void *block;
	size_t zeroed = bytes;
	if (MW_UNLIKELY(arena))
		block = mw_api_alloc_in(arena - 1, align, bytes, true);
	else if (align <= MW_BLOCK_ALIGN)
		block = mw_api_alloc_zeroed(bytes);
	else
		block = mw_api_aligned(align, bytes), zeroed = 0;
	if (block)
		mw_api_zero_rest(block, zeroed);
	return block;
}

static void *allocate(size_t bytes, int flags) {
	size_t align = align_of(flags);
	if (bytes == 0)
		bytes = 1;
	if (flags & FLAG_ZERO)
		return allocate_zeroed(bytes, align, arena_bits(flags));
	if (MW_UNLIKELY(arena_bits(flags)))
		return mw_api_alloc_in(arena_bits(flags) - 1, align, bytes, false);
	void *block =
		align <= MW_BLOCK_ALIGN ? mw_api_alloc_fast(bytes) : mw_api_aligned(align, bytes);
	return block || align > MW_BLOCK_ALIGN ? block : mw_api_alloc(bytes);
}

void *mallocx(size_t size, int flags) {
	return allocate(size, flags);
}

static size_t usable(const void *block) {
	return MW_HARDEN_ON ? mw_harden_usable_bytes(block) : mw_heap_usable_bytes(block);
}

/* Growth is zeroed from the end of what the block could hold before, as jemalloc has it. */
static void zero_growth(char *block, size_t before, int flags) {
	size_t after = usable(block);
	if (after <= before)
		return;
	if (flags & FLAG_ZERO)
		memset(block + before, 0, after - before);
	else
		mw_api_fill(block + before, after - before);
}

void *rallocx(void *block, size_t size, int flags) {
	size_t before = usable(block), align = align_of(flags);
	if (size == 0)
		size = 1;
	bool moves = arena_bits(flags) && arena_bits(flags) - 1 != mw_heap_arena_of(block);
	if (align <= MW_BLOCK_ALIGN && !moves) {
		void *resized = mw_api_realloc(block, size);
		if (resized)
			zero_growth(resized, before, flags);
		return resized;
	}
	void *moved = arena_bits(flags) ? mw_api_alloc_in(arena_bits(flags) - 1, align, size, false)
					: mw_api_aligned(align, size);
	if (!moved)
		return NULL;
	memcpy(moved, block, before < size ? before : size);
	zero_growth(moved, before, flags);
	mw_api_free(block);
	return moved;
}

/* What is larger than a block of a page may grow where it is; huge ones would move. */
static bool grow_in_place(void *block, size_t bytes, size_t usable_bytes) {
	if (MW_HARDEN_ON || mw_word_kind((uintptr_t)block) == MW_MAP_HUGE ||
	    usable_bytes <= MW_SMALL_MAX_BYTES)
		return false;
	size_t unused;
	return mw_heap_resize_in_place(block, bytes, &unused) != NULL;
}

size_t xallocx(void *block, size_t size, size_t extra, int flags) {
	size_t before = usable(block), most;
	if (size == 0)
		size = 1;
	if (__builtin_add_overflow(size, extra, &most))
		most = SIZE_MAX;
	if (most > PTRDIFF_MAX)
		most = PTRDIFF_MAX;
	if (most == before || (size <= before && most >= before))
		return before;
	if (!grow_in_place(block, most, before))
		grow_in_place(block, size, before);
	zero_growth(block, before, flags);
	return usable(block);
}

size_t sallocx(const void *block, int flags) {
	(void)flags;
	return usable(block);
}

void dallocx(void *block, int flags) {
	(void)flags;
	mw_api_free(block);
}

void sdallocx(void *block, size_t size, int flags) {
	size_t align = align_of(flags);
	mw_api_free_claimed(block, size ? size : 1, align > MW_BLOCK_ALIGN ? align : MW_NO_CLAIM,
			    "sdallocx");
}

size_t nallocx(size_t size, int flags) {
	size_t align = align_of(flags);
	if (size == 0)
		size = 1;
	if (size > PTRDIFF_MAX || align > PTRDIFF_MAX / 2)
		return 0;
	return MW_HARDEN_ON ? size : mw_heap_bytes_for(align, size);
}

static void ensure_started(void) {
	if (MW_UNLIKELY(!mw_api_started))
		mw_api_start();
	mw_mallctl_allocate = allocate;
}

int mallctl(const char *name, void *old, size_t *old_length, void *new_value, size_t new_length) {
	ensure_started();
	int saved_errno = errno;
	int result = mw_mallctl(name, old, old_length, new_value, new_length);
	errno = saved_errno;
	return result;
}

int mallctlnametomib(const char *name, size_t *mib, size_t *mib_length) {
	ensure_started();
	return mw_mallctl_name_to_mib(name, mib, mib_length);
}

int mallctlbymib(const size_t *mib, size_t mib_length, void *old, size_t *old_length,
		 void *new_value, size_t new_length) {
	ensure_started();
	int saved_errno = errno;
	int result = mw_mallctl_by_mib(mib, mib_length, old, old_length, new_value, new_length);
	errno = saved_errno;
	return result;
}
