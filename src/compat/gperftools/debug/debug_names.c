/* SPDX-License-Identifier: MIT
 * debug_names.c -- libc's functions and the C++ operators of libtcmalloc_debug. */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "compat/gperftools/debug/debug_heap.h"

/* ISO C23's. */
MW_EXPORT void free_sized(void *block, size_t bytes);
MW_EXPORT void free_aligned_sized(void *block, size_t align, size_t bytes);
MW_EXPORT void cfree(void *block);
/* Checks one block of this mw_gpd_kind_t or, if `kind` is -1, all blocks. MallocExtension's Verify
 * functions call it if the debug library is loaded. */
MW_EXPORT void mallow_debug_verify(int kind, const void *block);

#define PAGE_BYTES 4096u

/* The call that the exported function serves. */
#define CALL(its_name, its_kind)                                                                   \
	(&(mw_gpd_call_t){.function = (its_name),                                                  \
			  .kind = (its_kind),                                                      \
			  .caller = __builtin_return_address(0)})

MW_EXPORT void *malloc(size_t bytes) {
	return mw_gpd_allocate(CALL("malloc", MW_GPD_MALLOC), bytes, 0, false);
}

MW_EXPORT void *calloc(size_t count, size_t bytes) {
	size_t all;
	if (__builtin_mul_overflow(count, bytes, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return mw_gpd_allocate(CALL("calloc", MW_GPD_MALLOC), all, 0, true);
}

MW_EXPORT void *realloc(void *block, size_t bytes) {
	return mw_gpd_resize(CALL("realloc", MW_GPD_MALLOC), block, bytes);
}

MW_EXPORT void *reallocarray(void *block, size_t count, size_t bytes) {
	size_t all;
	if (__builtin_mul_overflow(count, bytes, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return mw_gpd_resize(CALL("reallocarray", MW_GPD_MALLOC), block, all);
}

MW_EXPORT void free(void *block) {
	mw_gpd_release(CALL("free", MW_GPD_MALLOC), block, MW_GPD_NO_SIZE);
}

void cfree(void *block) {
	mw_gpd_release(CALL("cfree", MW_GPD_MALLOC), block, MW_GPD_NO_SIZE);
}

void free_sized(void *block, size_t bytes) {
	mw_gpd_release(CALL("free_sized", MW_GPD_MALLOC), block, bytes);
}

void free_aligned_sized(void *block, size_t align, size_t bytes) {
	(void)align;
	mw_gpd_release(CALL("free_aligned_sized", MW_GPD_MALLOC), block, bytes);
}

MW_EXPORT void *memalign(size_t align, size_t bytes) {
	return mw_gpd_allocate(CALL("memalign", MW_GPD_MALLOC), bytes, align, false);
}

MW_EXPORT void *aligned_alloc(size_t align, size_t bytes) {
	return mw_gpd_allocate(CALL("aligned_alloc", MW_GPD_MALLOC), bytes, align, false);
}

MW_EXPORT int posix_memalign(void **result, size_t align, size_t bytes) {
	if (align == 0 || align % sizeof(void *) != 0 || (align & (align - 1)) != 0)
		return EINVAL;
	int saved_errno = errno;
	void *block = mw_gpd_allocate(CALL("posix_memalign", MW_GPD_MALLOC), bytes, align, false);
	errno = saved_errno;
	if (!block)
		return ENOMEM;
	*result = block;
	return 0;
}

MW_EXPORT void *valloc(size_t bytes) {
	return mw_gpd_allocate(CALL("valloc", MW_GPD_MALLOC), bytes, PAGE_BYTES, false);
}

MW_EXPORT void *pvalloc(size_t bytes) {
	size_t pages = bytes / PAGE_BYTES + (bytes % PAGE_BYTES != 0);
	if (pages > SIZE_MAX / PAGE_BYTES) {
		errno = ENOMEM;
		return NULL;
	}
	return mw_gpd_allocate(CALL("pvalloc", MW_GPD_MALLOC), (pages ? pages : 1) * PAGE_BYTES,
			       PAGE_BYTES, false);
}

MW_EXPORT size_t malloc_usable_size(void *block) {
	return mw_gpd_usable_bytes(CALL("malloc_usable_size", MW_GPD_MALLOC), block);
}

void mallow_debug_verify(int kind, const void *block) {
	if (kind < 0)
		mw_gpd_verify_all();
	else
		mw_gpd_verify_block(CALL("heap check", (mw_gpd_kind_t)kind), block);
}

/* ---- operators: the forms with std::nothrow are libstdc++'s, which call these ---- */

#define NEW(symbol, name, its_kind)                                                                \
	MW_EXPORT void *symbol(size_t bytes);                                                      \
	void *symbol(size_t bytes) {                                                               \
		return mw_gpd_allocate(CALL(name, its_kind), bytes, 0, false);                     \
	}                                                                                          \
	MW_EXPORT void *symbol##St11align_val_t(size_t bytes, size_t align);                       \
	void *symbol##St11align_val_t(size_t bytes, size_t align) {                                \
		return mw_gpd_allocate(CALL(name, its_kind), bytes, align, false);                 \
	}

#define DELETE(symbol, name, its_kind)                                                             \
	MW_EXPORT void symbol(void *block);                                                        \
	void symbol(void *block) {                                                                 \
		mw_gpd_release(CALL(name, its_kind), block, MW_GPD_NO_SIZE);                       \
	}                                                                                          \
	MW_EXPORT void symbol##m(void *block, size_t bytes);                                       \
	void symbol##m(void *block, size_t bytes) {                                                \
		mw_gpd_release(CALL(name, its_kind), block, bytes);                                \
	}                                                                                          \
	MW_EXPORT void symbol##St11align_val_t(void *block, size_t align);                         \
	void symbol##St11align_val_t(void *block, size_t align) {                                  \
		(void)align;                                                                       \
		mw_gpd_release(CALL(name, its_kind), block, MW_GPD_NO_SIZE);                       \
	}                                                                                          \
	MW_EXPORT void symbol##mSt11align_val_t(void *block, size_t bytes, size_t align);          \
	void symbol##mSt11align_val_t(void *block, size_t bytes, size_t align) {                   \
		(void)align;                                                                       \
		mw_gpd_release(CALL(name, its_kind), block, bytes);                                \
	}

NEW(_Znwm, "operator new", MW_GPD_NEW)
NEW(_Znam, "operator new[]", MW_GPD_NEW_ARRAY)
DELETE(_ZdlPv, "operator delete", MW_GPD_NEW)
DELETE(_ZdaPv, "operator delete[]", MW_GPD_NEW_ARRAY)
