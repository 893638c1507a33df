/* SPDX-License-Identifier: MIT
 * alloc.c -- slow ends of the allocation functions. */
#include "api/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/background.h"
#include "api/interval.h"
#include "api/start.h"
#include "base/check.h"
#include "heap/arena.h"
#include "heap/background.h"
#include "heap/limit.h"
#include "heap/tally.h"
#include "prof/unwind.h"

mw_api_policy_t mw_api_policy = {.zero_realloc = MW_ZERO_REALLOC_FREE};

void *mw_api_no_memory(void) {
	mw_limit_tell();
	if (mw_api_policy.xmalloc) {
		mw_print_line("<jemalloc>: Error in malloc(): out of memory");
		abort();
	}
	errno = ENOMEM;
	return NULL;
}

static MW_COLD void attend_to_thread(void) {
	/* A destructor of thread-specific data that allocates: libc may call ours never again, so
	 * the heap made for it goes at once.  Its list heads are empty each time: all such
	 * allocations come here. */
	if (mw_thread.ended) {
		mw_heap_thread_end();
		return;
	}
	mw_api_look_at_interval();
	if (mw_background_is_wanted())
		mw_api_start_background();
}

/* At the beginning of a function that the program calls, or that ends a fast path by a jump: the
 * stack of a sample is walked from its caller on, until checked(). */
#define BEGIN() (mw_unwind_entry = (const uintptr_t *)__builtin_frame_address(0))

static void *attended(void *block) {
	if (MW_UNLIKELY(!block))
		mw_api_no_memory();
	if (MW_UNLIKELY(mw_thread.special != 0))
		attend_to_thread();
	else if (MW_UNLIKELY(mw_background_is_wanted()))
		mw_api_start_background();
	return block;
}

static void *checked(void *block) {
	mw_unwind_entry = NULL;
	return attended(block);
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

static void *finish_zeroed(void *block, size_t bytes) {
	return checked(MW_HARDEN_ON && block ? mw_harden_give_out(block, bytes) : block);
}

static void *filled(void *block) {
	if (MW_UNLIKELY(mw_api_policy.fill != MW_FILL_NONE))
		fill_new(block);
	return block;
}

static void *finish(void *block, size_t bytes) {
	/* The hardened library has looked by then whether what it wrote there is still intact. */
	return filled(finish_zeroed(block, bytes));
}

static void ensure_started(void) {
	if (MW_UNLIKELY(!mw_api_started))
		mw_api_start();
}

/* Where a sample may be taken. */
static MW_NOINLINE void *alloc_started(size_t bytes) {
	BEGIN();
	ensure_started();
	return finish(mw_heap_alloc_slow(mw_harden_room(bytes)), bytes);
}

/* The hardened library's, apart, as it needs a frame. */
static MW_NOINLINE void *alloc_slow(size_t bytes) {
	void *block = MW_HARDEN_ON ? mw_harden_alloc_whole(bytes) : NULL;
	return block ? block : alloc_started(bytes);
}

/* Apart, as most threads never come here: else gcc takes all that follows for rare. */
static MW_NOINLINE void *alloc_attended(void *block) {
	return filled(attended(block));
}

/* The hardened library's of tiny sizes, apart for the same reason. */
static MW_NOINLINE void *alloc_tiny_slow(size_t bytes) {
	void *listed = mw_harden_alloc_at_once(bytes);
	if (MW_UNLIKELY(!listed))
		return alloc_slow(bytes);
	bool is_quiet = !mw_thread.special && !mw_background_is_wanted() &&
			mw_api_policy.fill == MW_FILL_NONE;
	return MW_LIKELY(is_quiet) ? listed : alloc_attended(listed);
}

void *mw_api_alloc(size_t bytes) {
	if (!MW_HARDEN_ON) {
		void *listed = mw_heap_alloc_at_once(bytes);
		return MW_LIKELY(listed != NULL) ? filled(attended(listed)) : alloc_started(bytes);
	}
	if (bytes <= mw_harden_requested(MW_TINY_MAX_BYTES))
		return alloc_tiny_slow(bytes);
	void *block = mw_harden_alloc_stack(bytes);
	return MW_LIKELY(block != NULL) ? block : alloc_slow(bytes);
}

void *mw_api_alloc_zeroed(size_t bytes) {
	BEGIN();
	ensure_started();
	size_t room = mw_harden_room(bytes);
	void *block;
	if (room > MW_SMALL_MAX_BYTES) {
		block = finish_zeroed(mw_heap_alloc_zeroed_slow(room), bytes);
	} else {
		block = MW_HARDEN_ON ? mw_api_alloc(bytes)
				     : finish(mw_heap_alloc_slow(room), bytes);
		if (block)
			memset(block, 0, bytes);
	}
	/* As jemalloc; else nobody may count on what malloc_usable_size() has beyond. */
	if (MW_UNLIKELY(mw_api_policy.fill != MW_FILL_NONE) && block)
		mw_api_zero_rest(block, bytes);
	return block;
}

void *mw_api_alloc_aligned(size_t align, size_t bytes) {
	BEGIN();
	ensure_started();
	return finish(mw_heap_alloc_aligned(align, mw_harden_room(bytes)), bytes);
}

void *mw_api_alloc_in(unsigned number, size_t align, size_t bytes, bool zero) {
	ensure_started();
	mw_arena_t *arena = mw_arena_of(number);
	if (number != 0 && !arena)
		return checked(NULL);
	bool zeroed = false;
	void *block = NULL;
	if (arena || (mw_thread.heap && mw_thread.heap->arena))
		block = finish(mw_heap_alloc_in(arena, align, mw_harden_room(bytes), &zeroed),
			       bytes);
	else
		block = mw_api_aligned(align, bytes);
	zeroed &= mw_api_policy.fill != MW_FILL_JUNK;
	return block && zero && !zeroed ? memset(block, 0, bytes) : block;
}

static void *resize(void *block, size_t bytes) {
	return checked(MW_HARDEN_ON ? mw_harden_resize(block, bytes)
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
	BEGIN();
	return MW_LIKELY(mw_api_policy.fill == MW_FILL_NONE) ? resize(block, bytes)
							     : resize_and_fill(block, bytes);
}

void *mw_api_realloc_zero(void *block) {
	mw_tally_add(&mw_tally.zero_reallocs, 1);
	switch (mw_api_policy.zero_realloc) {
	case MW_ZERO_REALLOC_ALLOC:
		return mw_api_realloc(block, 1);
	case MW_ZERO_REALLOC_FREE:
		break;
	case MW_ZERO_REALLOC_ABORT:
		mw_print_line("Called realloc(non-null-ptr, 0) with zero_realloc:abort set");
		abort();
	}
	mw_api_free(block);
	return NULL;
}
