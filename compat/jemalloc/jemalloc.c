/* SPDX-License-Identifier: MIT
 * jemalloc.c -- jemalloc's functions beyond the malloc family. MALLOCX_TCACHE flags are accepted
 * without effect, because each thread has its own tcache lists. */
#include "compat/jemalloc/jemalloc.h"

#include <errno.h>
#include <string.h>

#include "api/alloc.h"
#include "api/process/compat_hooks.h"
#include "api/process/start.h"
#include "base/check.h"
#include "compat/jemalloc/mallctl/mallctl.h"
#include "heap/core/lookup.h"
#include "heap/core/resize.h"
#include "heap/large/huge.h"

#define FLAG_ALIGN_MASK 0x3f
#define FLAG_ZERO 0x40

void (*malloc_message)(void *context, const char *text);
__attribute__((weak)) const char *malloc_conf;
__attribute__((weak)) const char *malloc_conf_2_conf_harder;

void mw_compat_add_sources(mw_conf_sources_t *sources) {
	sources->variable = malloc_conf;
	sources->variable_harder = malloc_conf_2_conf_harder;
}

static size_t align_of(int flags) {
	return (size_t)1 << (flags & FLAG_ALIGN_MASK);
}

/* Returns the bits of MALLOCX_ARENA() in the flags; 0: the flags name no arena. */
static unsigned arena_bits(int flags) {
	return (unsigned)flags >> 20;
}

/* Allocates a block all of whose usable bytes are zero: rallocx() with MALLOCX_ZERO relies on
 * that. */
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

/* Returns the usable size of the block for a request, less the part that the hardened library
 * needs: callers of this interface may use all of it. Requests are at most PTRDIFF_MAX bytes; 0:
 * the request is too large. */
static size_t real_size(size_t size, size_t align) {
	return MW_HARDEN_ON ? mw_harden_requested(mw_heap_bytes_for(align, mw_harden_room(size)))
			    : mw_heap_bytes_for(align, size);
}

/* Returns the size that is requested from the heap. In the hardened library this includes all bytes
 * that the caller may use. */
static size_t to_ask(size_t size, size_t align) {
	bool possible = size <= PTRDIFF_MAX / 2 && align <= PTRDIFF_MAX / 4;
	return MW_HARDEN_ON && possible ? real_size(size, align) : size;
}

void *mallocx(size_t size, int flags) {
	return allocate(to_ask(size ? size : 1, align_of(flags)), flags);
}

static size_t usable(const void *block) {
	return MW_HARDEN_ON ? mw_harden_usable_bytes(block) : mw_heap_usable_bytes(block);
}

/* Sets the bytes beyond the block's old usable size to zero, as jemalloc does. */
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
	size = to_ask(size ? size : 1, align);
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
	/* The bytes that were usable before stay as they are, the ones beyond the request too. */
	size_t after = usable(moved);
	memcpy(moved, block, before < after ? before : after);
	zero_growth(moved, before, flags);
	mw_api_free(block);
	return moved;
}

/* Grows a large block, above MW_SMALL_MAX_BYTES, in place. A huge block would move, so it is not
 * grown here. */
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
	if (size == 0)
		size = 1;
	/* A block of malloc() in the hardened library has the requested size. */
	if (MW_HARDEN_ON && block && usable(block) != size)
		size = to_ask(size, align);
	mw_api_free_claimed(block, size, align > MW_BLOCK_ALIGN ? align : MW_NO_CLAIM, "sdallocx");
}

size_t nallocx(size_t size, int flags) {
	size_t align = align_of(flags);
	if (size == 0)
		size = 1;
	if (size > PTRDIFF_MAX || align > PTRDIFF_MAX / 2)
		return 0;
	return real_size(size, align);
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
