/* SPDX-License-Identifier: MIT
 * new.c -- mimalloc's functions that behave as C++'s operator new: without memory they call the new
 * handler until there is some, and without a handler they throw std::bad_alloc.  They call no
 * operator: <mimalloc-new-delete.h> defines the operators by these functions. */
#include "base/bits.h"
#include "compat/mimalloc/mimalloc.h"

#define CALLER __builtin_return_address(0)

#ifdef MW_MI_STATIC
/* Has the linker take from libmallow.a the part that throws. */
extern void mw_cxx_throw_bad_alloc(void *caller);
static void (*const part_that_throws)(void *caller) __attribute__((used)) = mw_cxx_throw_bad_alloc;
#endif

/* Returns whether a failed request is to be repeated, because the new handler may have freed
 * memory.  Without a handler it throws, or returns false in a nothrow form. */
static MW_COLD bool retry(bool throws, void *caller) {
	if (mw_mi_blocks()->call_new_handler(caller))
		return true;
	if (throws)
		mw_mi_blocks()->throw_bad_alloc(caller);
	return false;
}

static void *alloc(mi_heap_t *heap, size_t bytes, size_t align, bool throws, void *caller) {
	void *block;
	do {
		block = mw_mi_alloc_aligned(heap, bytes, align, 0, false);
	} while (MW_UNLIKELY(!block) && retry(throws, caller));
	return block;
}

static void *resize(void *old, size_t bytes, void *caller) {
	void *block;
	do {
		block = mw_mi_resize(old, bytes, false);
	} while (MW_UNLIKELY(!block) && retry(true, caller));
	return block;
}

/* No block can be as large as SIZE_MAX: a product that overflows fails as a request without memory
 * does. */
static size_t product(size_t count, size_t size) {
	size_t bytes;
	return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

void *mi_new(size_t size) {
	void *block = mw_mi_blocks()->alloc_at_once(size);
	return MW_LIKELY(block != NULL) ? block : alloc(NULL, size, MW_BLOCK_ALIGN, true, CALLER);
}

void *mi_new_nothrow(size_t size) {
	void *block = mw_mi_blocks()->alloc_at_once(size);
	return MW_LIKELY(block != NULL) ? block : alloc(NULL, size, MW_BLOCK_ALIGN, false, CALLER);
}

void *mi_new_aligned(size_t size, size_t alignment) {
	return alloc(NULL, size, alignment, true, CALLER);
}

void *mi_new_aligned_nothrow(size_t size, size_t alignment) {
	return alloc(NULL, size, alignment, false, CALLER);
}

void *mi_new_n(size_t count, size_t size) {
	return alloc(NULL, product(count, size), MW_BLOCK_ALIGN, true, CALLER);
}

void *mi_new_realloc(void *p, size_t newsize) {
	return resize(p, newsize, CALLER);
}

void *mi_new_reallocn(void *p, size_t newcount, size_t size) {
	return resize(p, product(newcount, size), CALLER);
}

void *mi_heap_alloc_new(mi_heap_t *heap, size_t size) {
	return alloc(heap, size, MW_BLOCK_ALIGN, true, CALLER);
}

void *mi_heap_alloc_new_n(mi_heap_t *heap, size_t count, size_t size) {
	return alloc(heap, product(count, size), MW_BLOCK_ALIGN, true, CALLER);
}
