/* SPDX-License-Identifier: MIT
 * alloc.c -- slow paths of the allocation functions. */
#include "api/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/process/background_thread.h"
#include "api/process/start.h"
#include "api/process/stats_interval.h"
#include "base/check.h"
#include "heap/arena/arena.h"
#include "heap/core/arena_blocks.h"
#include "heap/core/resize.h"
#include "heap/layout/counters.h"
#include "heap/memory/background.h"
#include "heap/sample/hooks.h"
#include "heap/thread/thread.h"
#include "os/memory/map.h"
#include "prof/unwind/unwind.h"

const uint8_t *mw_api_sized_map = mw_address_map;

bool mw_api_divert_sized(void) {
	if (mw_api_sized_map != mw_address_map)
		return true;
	const uint8_t *no_chunks = mw_os_map(sizeof mw_address_map);
	if (no_chunks)
		mw_api_sized_map = no_chunks;
	return no_chunks != NULL;
}

void *mw_api_no_memory(void) {
	mw_heap_report_limits();
	if (mw_api_policy.xmalloc) {
		mw_print_line("<jemalloc>: Error in malloc(): out of memory");
		abort();
	}
	errno = ENOMEM;
	return NULL;
}

static MW_COLD void attend_to_thread(void) {
	/* The thread has ended, and a destructor of thread-specific data allocates. libc may not
	 * call mallow's destructor again, so the heap created for the block is released at once.
	 * Its tcache lists are empty each time, so every such allocation takes this path. */
	if (mw_thread.ended) {
		mw_heap_thread_end();
		return;
	}
	mw_api_check_interval();
	if (mw_background_is_wanted())
		mw_api_start_background();
}

/* Frame of the function that the program called, while the function runs. A sample's stack walk
 * starts at the caller of this frame. The cleanup attribute resets the variable at every return, so
 * that no later walk starts there. */
static inline void leave(const uintptr_t **entry) {
	(void)entry;
	mw_unwind_entry = NULL;
}
#define ENTER()                                                                                    \
	__attribute__((cleanup(leave), unused)) const uintptr_t *entered = mw_unwind_entry =       \
		(const uintptr_t *)__builtin_frame_address(0)

static void *attended(void *block) {
	if (MW_UNLIKELY(!block))
		mw_api_no_memory();
	if (MW_UNLIKELY(mw_thread.special != 0))
		attend_to_thread();
	else if (MW_UNLIKELY(mw_background_is_wanted()))
		mw_api_start_background();
	return block;
}

#define JUNK_NEW 0xa5 /* as jemalloc */

void mw_api_fill(void *start, size_t bytes) {
	if (mw_api_policy.fill != MW_FILL_NONE)
		memset(start, mw_api_policy.fill == MW_FILL_JUNK ? JUNK_NEW : 0, bytes);
}

static size_t usable_bytes(const void *block) {
	return MW_HARDEN_ON ? mw_harden_usable_bytes(block) : mw_heap_usable_bytes(block);
}

void mw_api_zero_rest(void *block, size_t bytes) {
	memset((char *)block + bytes, 0, usable_bytes(block) - bytes);
}

static MW_COLD MW_NOINLINE void fill_new(void *block) {
	if (block)
		mw_api_fill(block, usable_bytes(block));
}

static void *filled(void *block) {
	if (MW_UNLIKELY(mw_api_policy.fill != MW_FILL_NONE))
		fill_new(block);
	return block;
}

static void ensure_started(void) {
	if (MW_UNLIKELY(!mw_api_started))
		mw_api_start();
}

/* The hardened library first checks that the pattern in the freed block is intact. */
static void *given_out(void *block, size_t bytes) {
	return MW_HARDEN_ON && block ? mw_harden_give_out(block, bytes) : block;
}

/* Slow path of malloc() and the other functions for blocks that may be samples. For large blocks
 * the heap reports whether they are zero already. */
static MW_NOINLINE void *alloc_by_heap(size_t align, size_t bytes, bool zero) {
	ENTER();
	ensure_started();
	if (MW_HARDEN_ON && MW_UNLIKELY(bytes == 0)) {
		void *empty = align <= MW_BLOCK_ALIGN ? mw_harden_empty_alloc() : NULL;
		if (empty)
			return attended(empty);
	}
	size_t room = mw_harden_room(bytes);
	bool is_large = zero && room > MW_SMALL_MAX_BYTES;
	void *block = MW_HARDEN_ON && align <= MW_BLOCK_ALIGN ? mw_harden_alloc_whole(bytes) : NULL;
	if (!block)
		block = given_out(is_large ? mw_heap_alloc_zeroed_slow(room)
					   : mw_heap_alloc_aligned(align, room),
				  bytes);
	block = attended(block);
	if (!zero)
		return filled(block);
	return block && !is_large ? memset(block, 0, bytes) : block;
}

/* Returns a tiny block from the thread's tcache list that is not a sample; else NULL. */
MW_ALWAYS_INLINE void *alloc_listed(size_t bytes) {
	void *block = mw_harden_alloc_at_once(bytes);
	return MW_LIKELY(block != NULL) ? attended(block) : NULL;
}

void *mw_api_alloc(size_t bytes) {
	/* The hardened library serves these sizes only here, in a separate function that needs no
	 * stack frame. */
	void *block = mw_harden_alloc_above_tiny(bytes);
	if (MW_LIKELY(block != NULL))
		return block;
	block = alloc_listed(bytes);
	return MW_LIKELY(block != NULL) ? filled(block)
					: alloc_by_heap(MW_BLOCK_ALIGN, bytes, false);
}

void *mw_api_alloc_zeroed(size_t bytes) {
	void *block = mw_harden_alloc_above_tiny(bytes);
	if (!block)
		block = alloc_listed(bytes);
	block = MW_LIKELY(block != NULL) ? memset(block, 0, bytes)
					 : alloc_by_heap(MW_BLOCK_ALIGN, bytes, true);
	/* Only the requested bytes are filled, as in jemalloc. Otherwise programs could rely on the
	 * contents of the bytes that malloc_usable_size() reports beyond them. */
	if (MW_UNLIKELY(mw_api_policy.fill != MW_FILL_NONE) && block)
		mw_api_zero_rest(block, bytes);
	return block;
}

void *mw_api_alloc_aligned(size_t align, size_t bytes) {
	return alloc_by_heap(align, bytes, false);
}

void *mw_api_alloc_in(unsigned number, size_t align, size_t bytes, bool zero) {
	ENTER();
	ensure_started();
	mw_arena_t *arena = mw_arena_of(number);
	if (number != 0 && !arena)
		return attended(NULL);
	bool zeroed = false;
	void *block = NULL;
	if (arena || (mw_thread.heap && mw_thread.heap->arena))
		block = filled(attended(given_out(
			mw_heap_alloc_in(arena, align, mw_harden_room(bytes), &zeroed), bytes)));
	else
		block = mw_api_aligned(align, bytes);
	zeroed &= mw_api_policy.fill != MW_FILL_JUNK;
	return block && zero && !zeroed ? memset(block, 0, bytes) : block;
}

void *mw_api_alloc_listed(mw_arena_lists_t *lists, size_t bytes) {
	ENTER();
	void *block =
		mw_api_policy.fill == MW_FILL_NONE ? mw_arena_lists_alloc(lists, bytes) : NULL;
	return block ? attended(block) : NULL;
}

static void *resize(void *block, size_t bytes) {
	return attended(MW_HARDEN_ON ? mw_harden_resize(block, bytes)
				     : mw_heap_resize(block, bytes));
}

static MW_COLD MW_NOINLINE void *resize_and_fill(void *block, size_t bytes) {
	size_t before = usable_bytes(block);
	char *resized = resize(block, bytes);
	size_t after = resized ? usable_bytes(resized) : 0;
	if (after > before)
		mw_api_fill(resized + before, after - before);
	return resized;
}

void *mw_api_realloc(void *block, size_t bytes) {
	ENTER();
	return MW_LIKELY(mw_api_policy.fill == MW_FILL_NONE) ? resize(block, bytes)
							     : resize_and_fill(block, bytes);
}

void *mw_api_realloc_zero(void *block) {
	mw_counters_add(&mw_counters.zero_reallocs, 1);
	switch (mw_api_policy.zero_realloc) {
	case MW_ZERO_REALLOC_ALLOC:
		return mw_api_realloc(block, 1);
	case MW_ZERO_REALLOC_FREE:
		break;
	case MW_ZERO_REALLOC_ABORT:
		mw_fatal_line("Called realloc(non-null-ptr, 0) with zero_realloc:abort set");
	}
	mw_api_free(block);
	return NULL;
}
