/* SPDX-License-Identifier: MIT
 * compat_blocks.c -- functions for other libraries that allocate, resize and free blocks. */
#include <stddef.h>

#include "api/alloc.h"
#include "api/compat/compat_parts.h"
#include "api/cxx.h"
#include "heap/core/alloc.h"
#include "heap/core/lookup.h"
#include "heap/core/resize.h"
#include "heap/misuse/misuse.h"

_Static_assert(MW_COMPAT_NO_CLAIM == MW_NO_CLAIM, "other libraries know the value by another name");

/* A C program that is linked with libmallow.a lacks both, as it lacks libstdc++. */
#pragma weak mw_cxx_call_new_handler
#pragma weak mw_cxx_throw_bad_alloc

static void *alloc_at_once(size_t bytes) {
	return mw_api_alloc_fast(bytes);
}

static void *alloc_aligned(size_t align, size_t bytes) {
	return mw_api_aligned(align, bytes);
}

static void *resize(void *block, size_t bytes) {
	if (MW_HARDEN_ON ? mw_harden_resize_in_place(block, bytes) != NULL
			 : mw_fast_resize(block, bytes))
		return block;
	return mw_api_realloc(block, bytes);
}

static bool shrink_stays(size_t usable_bytes, size_t bytes, size_t align) {
	if (bytes > usable_bytes || bytes < usable_bytes / 2)
		return false;
	return usable_bytes > MW_SMALL_MAX_BYTES ||
	       mw_heap_bytes_for(align, bytes) >= usable_bytes ||
	       mw_heap_shrink_stays(usable_bytes, bytes);
}

static void free_block(void *block) {
	mw_api_free(block);
}

/* Only a stated size goes by mw_api_sized_map. */
static void free_claimed(void *block, size_t bytes, size_t align, const char *function) {
	if (bytes == MW_NO_CLAIM)
		mw_api_free_claimed(block, MW_NO_CLAIM, align, function);
	else
		mw_api_free_claimed(block, bytes, align, function);
}

static size_t usable_bytes(const void *block) {
	return MW_HARDEN_ON ? mw_harden_usable_bytes(block) : mw_heap_usable_bytes(block);
}

static size_t usable_for(size_t align, size_t bytes) {
	if (bytes == 0)
		bytes = 1;
	if (bytes > PTRDIFF_MAX || align > PTRDIFF_MAX / 2)
		return 0;
	return MW_HARDEN_ON ? mw_harden_requested(mw_heap_bytes_for(align, mw_harden_room(bytes)))
			    : mw_heap_bytes_for(align, bytes);
}

void mw_compat_fill_blocks(volatile mw_compat_blocks_t *blocks) {
	blocks->is_hardened = MW_HARDEN_ON;
	blocks->alloc_at_once = alloc_at_once;
	blocks->alloc = mw_api_alloc;
	blocks->alloc_zeroed = mw_api_alloc_zeroed;
	blocks->alloc_aligned = alloc_aligned;
	blocks->alloc_in = mw_api_alloc_in;
	blocks->zero_rest = mw_api_zero_rest;
	blocks->resize = resize;
	blocks->shrink_stays = shrink_stays;
	blocks->free = free_block;
	blocks->free_claimed = free_claimed;
	blocks->usable_bytes = usable_bytes;
	blocks->usable_for = usable_for;
	blocks->no_memory = mw_api_no_memory;
	blocks->call_new_handler = mw_cxx_call_new_handler;
	blocks->throw_bad_alloc = mw_cxx_throw_bad_alloc;
}
