/* SPDX-License-Identifier: MIT
 * debug_names.c -- libc's functions and the C++ operators of libtcmalloc_debug. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"
#include "compat/gperftools/debug/debug_heap.h"
#include "os/platform/loaded_symbol.h"

/* ISO C23's. */
MW_EXPORT void free_sized(void *block, size_t bytes);
MW_EXPORT void free_aligned_sized(void *block, size_t align, size_t bytes);
MW_EXPORT void cfree(void *block);
/* Checks one block of this mw_gpd_kind_t or, if `kind` is -1, all blocks. MallocExtension's Verify
 * functions call it if the debug library is loaded. */
MW_EXPORT void mallow_debug_verify(int kind, const void *block);

#define PAGE_BYTES ((size_t)sysconf(_SC_PAGESIZE))

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

void *pvalloc(size_t bytes); /* not in musl's header */

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

/* A program may replace some of the operators. The other forms then lead to its own ones, as those
 * of libstdc++ do ([new.delete] in the C++ standard): arrays to single objects, sizes to none. */
#define OWN(name) OWN_TEXT(name)
#define OWN_TEXT(name) __attribute__((alias(#name), visibility("hidden")))
MW_EXPORT void *_Znwm(size_t bytes);
MW_EXPORT void *_Znam(size_t bytes);
MW_EXPORT void *_ZnwmSt11align_val_t(size_t bytes, size_t align);
MW_EXPORT void *_ZnamSt11align_val_t(size_t bytes, size_t align);
MW_EXPORT void _ZdlPv(void *block);
MW_EXPORT void _ZdaPv(void *block);
MW_EXPORT void _ZdlPvm(void *block, size_t bytes);
MW_EXPORT void _ZdaPvm(void *block, size_t bytes);
MW_EXPORT void _ZdlPvSt11align_val_t(void *block, size_t align);
MW_EXPORT void _ZdaPvSt11align_val_t(void *block, size_t align);
MW_EXPORT void _ZdlPvmSt11align_val_t(void *block, size_t bytes, size_t align);
MW_EXPORT void _ZdaPvmSt11align_val_t(void *block, size_t bytes, size_t align);
extern void *own_new(size_t) OWN(_Znwm);
extern void *own_new_aligned(size_t, size_t) OWN(_ZnwmSt11align_val_t);
extern void own_delete(void *) OWN(_ZdlPv);
extern void own_delete_array(void *) OWN(_ZdaPv);
extern void own_delete_aligned(void *, size_t) OWN(_ZdlPvSt11align_val_t);
extern void own_delete_array_aligned(void *, size_t) OWN(_ZdaPvSt11align_val_t);

static bool differ(const void *visible, const void *own) {
	/* Hides the address from the compiler, which would otherwise assume that an alias is the
	 * same function. */
	__asm__("" : "+r"(visible));
	return visible != own;
}

#define IS_REPLACED(name, own)                                                                     \
	differ((const void *)(uintptr_t)(name), (const void *)(uintptr_t)(own))

/* The nothrow form of new, and a function that libstdc++ alone defines. */
extern void *_ZnwmRKSt9nothrow_t(size_t bytes, const void *nothrow) __attribute__((weak));
extern void *_ZSt15get_new_handlerv(void) __attribute__((weak));

/* Returns whether another object than libstdc++ defines the nothrow form of new: its blocks may
 * come from malloc(), and any form of delete frees them. */
static bool is_nothrow_replaced(void) {
	Dl_info form, library;
	return _ZnwmRKSt9nothrow_t && _ZSt15get_new_handlerv &&
	       mw_os_find_object_of((const void *)(uintptr_t)_ZnwmRKSt9nothrow_t, &form) &&
	       mw_os_find_object_of((const void *)(uintptr_t)_ZSt15get_new_handlerv, &library) &&
	       form.dli_fbase != library.dli_fbase;
}

#define DELETE_CALL(its_name, its_kind)                                                            \
	(&(mw_gpd_call_t){.function = (its_name),                                                  \
			  .kind = (its_kind),                                                      \
			  .takes_malloc = is_nothrow_replaced,                                     \
			  .caller = __builtin_return_address(0)})

void *_Znwm(size_t bytes) {
	return mw_gpd_allocate(CALL("operator new", MW_GPD_NEW), bytes, 0, false);
}

void *_Znam(size_t bytes) {
	if (IS_REPLACED(_Znwm, own_new))
		return _Znwm(bytes);
	return mw_gpd_allocate(CALL("operator new[]", MW_GPD_NEW_ARRAY), bytes, 0, false);
}

void *_ZnwmSt11align_val_t(size_t bytes, size_t align) {
	return mw_gpd_allocate(CALL("operator new", MW_GPD_NEW), bytes, align, false);
}

void *_ZnamSt11align_val_t(size_t bytes, size_t align) {
	if (IS_REPLACED(_ZnwmSt11align_val_t, own_new_aligned))
		return _ZnwmSt11align_val_t(bytes, align);
	return mw_gpd_allocate(CALL("operator new[]", MW_GPD_NEW_ARRAY), bytes, align, false);
}

void _ZdlPv(void *block) {
	mw_gpd_release(DELETE_CALL("operator delete", MW_GPD_NEW), block, MW_GPD_NO_SIZE);
}

void _ZdlPvm(void *block, size_t bytes) {
	if (IS_REPLACED(_ZdlPv, own_delete))
		_ZdlPv(block);
	else
		mw_gpd_release(DELETE_CALL("operator delete", MW_GPD_NEW), block, bytes);
}

void _ZdlPvSt11align_val_t(void *block, size_t align) {
	(void)align;
	mw_gpd_release(DELETE_CALL("operator delete", MW_GPD_NEW), block, MW_GPD_NO_SIZE);
}

void _ZdlPvmSt11align_val_t(void *block, size_t bytes, size_t align) {
	if (IS_REPLACED(_ZdlPvSt11align_val_t, own_delete_aligned))
		_ZdlPvSt11align_val_t(block, align);
	else
		mw_gpd_release(DELETE_CALL("operator delete", MW_GPD_NEW), block, bytes);
}

void _ZdaPv(void *block) {
	if (IS_REPLACED(_ZdlPv, own_delete))
		_ZdlPv(block);
	else
		mw_gpd_release(DELETE_CALL("operator delete[]", MW_GPD_NEW_ARRAY), block,
			       MW_GPD_NO_SIZE);
}

void _ZdaPvm(void *block, size_t bytes) {
	if (IS_REPLACED(_ZdaPv, own_delete_array))
		_ZdaPv(block);
	else if (IS_REPLACED(_ZdlPv, own_delete))
		_ZdlPv(block);
	else
		mw_gpd_release(DELETE_CALL("operator delete[]", MW_GPD_NEW_ARRAY), block, bytes);
}

void _ZdaPvSt11align_val_t(void *block, size_t align) {
	if (IS_REPLACED(_ZdlPvSt11align_val_t, own_delete_aligned))
		_ZdlPvSt11align_val_t(block, align);
	else
		mw_gpd_release(DELETE_CALL("operator delete[]", MW_GPD_NEW_ARRAY), block,
			       MW_GPD_NO_SIZE);
}

void _ZdaPvmSt11align_val_t(void *block, size_t bytes, size_t align) {
	if (IS_REPLACED(_ZdaPvSt11align_val_t, own_delete_array_aligned))
		_ZdaPvSt11align_val_t(block, align);
	else if (IS_REPLACED(_ZdlPvSt11align_val_t, own_delete_aligned))
		_ZdlPvSt11align_val_t(block, align);
	else
		mw_gpd_release(DELETE_CALL("operator delete[]", MW_GPD_NEW_ARRAY), block, bytes);
}
