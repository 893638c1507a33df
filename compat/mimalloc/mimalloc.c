/* SPDX-License-Identifier: MIT
 * mimalloc.c -- mimalloc's functions that allocate, resize and free blocks, and those that concern
 * the library as a whole. */
#include "compat/mimalloc/mimalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "compat/mimalloc/mi_heap.h"

/* ---- what the other sources share ---- */

const mw_compat_calls_t *_Atomic mw_mi_known_calls;

/* The linker defines both at the ends of the library's code. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

const mw_compat_calls_t *mw_mi_find_calls(void) {
	const mw_compat_calls_t *calls = mallow_compat_calls();
	if (strcmp(calls->version, MALLOW_VERSION) != 0)
		mw_fatal("libmimalloc_mallow.so %s cannot use libmallow.so %s; install both of one "
			 "version",
			 MALLOW_VERSION, calls->version);
	calls->add_own_code(__ehdr_start, etext);
	atomic_store_explicit(&mw_mi_known_calls, calls, memory_order_relaxed);
	return calls;
}

size_t mw_mi_usable(const void *block) {
	if (!block)
		return 0;
	return mw_mi_blocks()->usable_bytes(block);
}

bool mw_mi_multiply(size_t count, size_t size, size_t *bytes) {
	if (MW_LIKELY(!__builtin_mul_overflow(count, size, bytes)))
		return true;
	mw_mi_blocks()->no_memory();
	mw_mi_error(EOVERFLOW, "%zu times %zu bytes are more than the largest block", count, size);
	return false;
}

static void *checked(void *block, size_t bytes) {
	if (MW_UNLIKELY(!block))
		mw_mi_error(bytes > PTRDIFF_MAX ? EOVERFLOW : ENOMEM, "no memory for %zu bytes",
			    bytes);
	return block;
}

static MW_NOINLINE void *alloc_slow(size_t bytes, bool zero) {
	const mw_compat_blocks_t *blocks = mw_mi_blocks();
	mw_mi_beat(false);
	return checked(zero ? blocks->alloc_zeroed(bytes) : blocks->alloc(bytes), bytes);
}

static void *alloc(size_t bytes) {
	void *block = mw_mi_blocks()->alloc_at_once(bytes);
	return MW_LIKELY(block != NULL) ? block : alloc_slow(bytes, false);
}

static void *alloc_zeroed(size_t bytes) {
	void *block = mw_mi_blocks()->alloc_at_once(bytes);
	size_t zeroed = 0;
	if (MW_UNLIKELY(!block)) {
		block = alloc_slow(bytes, true);
		zeroed = bytes;
	}
	if (MW_LIKELY(block != NULL))
		mw_mi_blocks()->zero_rest(block, zeroed);
	return block;
}

void *mw_mi_alloc(size_t bytes, size_t align, bool zero) {
	if (MW_LIKELY(align <= MW_BLOCK_ALIGN))
		return zero ? alloc_zeroed(bytes) : alloc(bytes);
	void *block = checked(mw_mi_blocks()->alloc_aligned(align, bytes), bytes);
	if (block && zero)
		mw_mi_blocks()->zero_rest(block, 0);
	return block;
}

/* Not libc's name: another library's malloc may be in front of it. */
static void *resize(void *block, size_t bytes) {
	return checked(mw_mi_blocks()->resize(block, bytes), bytes);
}

void *mw_mi_resize(void *block, size_t bytes, bool zero) {
	if (!block)
		return mw_mi_alloc(bytes, MW_BLOCK_ALIGN, zero);
	size_t least_bytes = bytes ? bytes : 1;
	if (!zero)
		return resize(block, least_bytes);
	size_t before = mw_mi_usable(block);
	void *resized = resize(block, least_bytes);
	if (resized)
		mw_mi_blocks()->zero_rest(resized, bytes < before ? bytes : before);
	return resized;
}

/* ---- allocate ---- */

void *mi_malloc(size_t size) {
	return alloc(size);
}

void *mi_malloc_small(size_t size) {
	return alloc(size);
}

void *mi_zalloc(size_t size) {
	return alloc_zeroed(size);
}

void *mi_zalloc_small(size_t size) {
	return alloc_zeroed(size);
}

void *mi_calloc(size_t count, size_t size) {
	size_t bytes;
	return MW_LIKELY(mw_mi_multiply(count, size, &bytes)) ? alloc_zeroed(bytes) : NULL;
}

void *mi_mallocn(size_t count, size_t size) {
	size_t bytes;
	return MW_LIKELY(mw_mi_multiply(count, size, &bytes)) ? alloc(bytes) : NULL;
}

/* ---- resize ---- */

void *mi_realloc(void *p, size_t newsize) {
	return mw_mi_resize(p, newsize, false);
}

void *mi_reallocn(void *p, size_t count, size_t size) {
	size_t bytes;
	return mw_mi_multiply(count, size, &bytes) ? mw_mi_resize(p, bytes, false) : NULL;
}

void *mi_reallocf(void *p, size_t newsize) {
	void *resized = mw_mi_resize(p, newsize, false);
	if (!resized)
		mw_mi_blocks()->free(p);
	return resized;
}

void *mi_rezalloc(void *p, size_t newsize) {
	return mw_mi_resize(p, newsize, true);
}

void *mi_recalloc(void *p, size_t newcount, size_t size) {
	size_t bytes;
	return mw_mi_multiply(newcount, size, &bytes) ? mw_mi_resize(p, bytes, true) : NULL;
}

void *mi_expand(void *p, size_t newsize) {
	return p && newsize <= mw_mi_usable(p) ? p : NULL;
}

/* ---- free ---- */

void mi_free(void *p) {
	mw_mi_blocks()->free(p);
}

void mi_free_small(void *p) {
	mw_mi_blocks()->free(p);
}

void mi_free_size(void *p, size_t size) {
	mw_mi_blocks()->free_claimed(p, size, MW_COMPAT_NO_CLAIM, "mi_free_size");
}

void mi_free_size_aligned(void *p, size_t size, size_t alignment) {
	mw_mi_blocks()->free_claimed(p, size, alignment, "mi_free_size_aligned");
}

void mi_free_aligned(void *p, size_t alignment) {
	mw_mi_blocks()->free_claimed(p, MW_COMPAT_NO_CLAIM, alignment, "mi_free_aligned");
}

/* ---- sizes ---- */

size_t mi_usable_size(const void *p) {
	return mw_mi_usable(p);
}

size_t mi_good_size(size_t size) {
	const mw_compat_blocks_t *blocks = mw_mi_blocks();
	/* A block of the hardened library has the requested size. */
	return blocks->is_hardened || size > PTRDIFF_MAX ? size
							 : blocks->usable_for(MW_BLOCK_ALIGN, size);
}

static void *tell(void *block, size_t *block_size) {
	if (block_size)
		*block_size = mw_mi_usable(block);
	return block;
}

void *mi_umalloc(size_t size, size_t *block_size) {
	return tell(alloc(size), block_size);
}

void *mi_umalloc_small(size_t size, size_t *block_size) {
	return tell(alloc(size), block_size);
}

void *mi_uzalloc_small(size_t size, size_t *block_size) {
	return tell(alloc_zeroed(size), block_size);
}

void *mi_ucalloc(size_t count, size_t size, size_t *block_size) {
	return tell(mi_calloc(count, size), block_size);
}

void *mi_umalloc_aligned(size_t size, size_t alignment, size_t *block_size) {
	return tell(mi_malloc_aligned(size, alignment), block_size);
}

void *mi_uzalloc_aligned(size_t size, size_t alignment, size_t *block_size) {
	return tell(mi_zalloc_aligned(size, alignment), block_size);
}

void *mi_urealloc(void *p, size_t newsize, size_t *block_size_pre, size_t *block_size_post) {
	if (block_size_pre)
		*block_size_pre = mw_mi_usable(p);
	return tell(mw_mi_resize(p, newsize, false), block_size_post);
}

void mi_ufree(void *p, size_t *block_size) {
	tell(p, block_size);
	mw_mi_blocks()->free(p);
}

/* ---- the library ---- */

int mi_version(void) {
	return MI_MALLOC_VERSION;
}

void mi_collect(bool force) {
	mw_mi_beat(force);
	mw_mi_heap_sweep();
	mw_mi_calls()->purge(force);
}

void mi_collect_reduce(size_t target_thread_owned) {
	mi_collect(target_thread_owned == 0);
}

bool mi_is_in_heap_region(const void *p) {
	return mw_mi_calls()->owns(p);
}

bool mi_is_redirected(void) {
	void *block = malloc(1);
	bool redirected = mi_is_in_heap_region(block);
	free(block);
	return redirected;
}

void mi_process_init(void) {
	mw_mi_calls();
}

void mi_process_done(void) {
}

void mi_thread_init(void) {
	mi_process_init();
}

void mi_thread_done(void) {
}

void mi_thread_set_in_threadpool(void) {
}
