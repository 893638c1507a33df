/* SPDX-License-Identifier: MIT
 * cxx.c -- operator new and delete.
 *
 * Exceptions: std::bad_alloc is thrown by libstdc++ itself (std::__throw_bad_alloc), found at run
 * time, and unwinds through these C functions by their unwind tables.  The nothrow forms must catch
 * what a new handler throws, which C cannot: out of memory, they call libstdc++'s own form (the
 * next definition after ours), which calls the throwing form here inside a try block. */
#include "api/cxx.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "api/alloc.h"
#include "base/check.h"

typedef void (*new_handler_t)(void);

extern new_handler_t _ZSt15get_new_handlerv(void) __attribute__((weak));
extern void _ZSt17__throw_bad_allocv(void) __attribute__((weak));

/* A function of libstdc++ that was not there when the program started: brought by dlopen(3),
 * perhaps with local scope, so it is looked for from the object that called us. */
static void *find_late(const char *name, void *caller) {
	void *found = dlsym(RTLD_DEFAULT, name);
	Dl_info object;
	if (found || !dladdr(caller, &object))
		return found;
	void *handle = dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!handle)
		return NULL;
	found = dlsym(handle, name);
	dlclose(handle);
	return found;
}

static void refuse_to_fail(void) {
	if (!mw_api_policy.infallible_new)
		return;
	mw_print_line("<jemalloc>: Allocation failed and opt.experimental_infallible_new is true. "
		      "Aborting.");
	abort();
}

/* Returns when the handler has made room; throws when there is none. */
static void call_new_handler(void *caller) {
	refuse_to_fail();
	new_handler_t (*get_handler)(void) = _ZSt15get_new_handlerv;
	if (!get_handler)
		*(void **)&get_handler = find_late("_ZSt15get_new_handlerv", caller);
	new_handler_t handler = get_handler ? get_handler() : NULL;
	if (handler) {
		handler();
		return;
	}
	void (*throw_bad_alloc)(void) = _ZSt17__throw_bad_allocv;
	if (!throw_bad_alloc)
		*(void **)&throw_bad_alloc = find_late("_ZSt17__throw_bad_allocv", caller);
	if (throw_bad_alloc)
		throw_bad_alloc();
	mw_fatal("operator new: out of memory, and no libstdc++ to throw std::bad_alloc");
}

static MW_NOINLINE void *new_slow(size_t bytes, void *caller) {
	for (;;) {
		void *block = mw_api_alloc(bytes);
		if (MW_LIKELY(block != NULL))
			return block;
		call_new_handler(caller);
	}
}

static MW_NOINLINE void *new_aligned(size_t bytes, size_t align, void *caller) {
	for (;;) {
		void *block = mw_api_aligned(align, bytes);
		if (MW_LIKELY(block != NULL))
			return block;
		call_new_handler(caller);
	}
}

void *_Znwm(size_t bytes) {
	void *block = mw_api_alloc_fast(bytes);
	if (MW_LIKELY(block != NULL))
		return block;
	return new_slow(bytes, __builtin_return_address(0));
}

void *_Znam(size_t bytes) {
	void *block = mw_api_alloc_fast(bytes);
	if (MW_LIKELY(block != NULL))
		return block;
	return new_slow(bytes, __builtin_return_address(0));
}

void *_ZnwmRKSt9nothrow_t(size_t bytes, const mw_nothrow_t *tag) {
	void *block = mw_api_alloc(bytes);
	if (MW_LIKELY(block != NULL))
		return block;
	refuse_to_fail();
	void *(*next)(size_t, const mw_nothrow_t *);
	*(void **)&next = dlsym(RTLD_NEXT, "_ZnwmRKSt9nothrow_t");
	return next ? next(bytes, tag) : NULL;
}

void *_ZnamRKSt9nothrow_t(size_t bytes, const mw_nothrow_t *tag) {
	return _ZnwmRKSt9nothrow_t(bytes, tag);
}

void *_ZnwmSt11align_val_t(size_t bytes, size_t align) {
	return new_aligned(bytes, align, __builtin_return_address(0));
}

void *_ZnamSt11align_val_t(size_t bytes, size_t align) {
	return new_aligned(bytes, align, __builtin_return_address(0));
}

void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t bytes, size_t align, const mw_nothrow_t *tag) {
	void *block = mw_api_aligned(align, bytes);
	if (MW_LIKELY(block != NULL))
		return block;
	refuse_to_fail();
	void *(*next)(size_t, size_t, const mw_nothrow_t *);
	*(void **)&next = dlsym(RTLD_NEXT, "_ZnwmSt11align_val_tRKSt9nothrow_t");
	return next ? next(bytes, align, tag) : NULL;
}

void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t bytes, size_t align, const mw_nothrow_t *tag) {
	return _ZnwmSt11align_val_tRKSt9nothrow_t(bytes, align, tag);
}

void _ZdlPv(void *block) {
	mw_api_free_claimed(block, MW_NO_CLAIM, MW_NO_CLAIM, "operator delete");
}

void _ZdlPvm(void *block, size_t bytes) {
	mw_api_free_claimed(block, bytes, MW_NO_CLAIM, "operator delete");
}

void _ZdlPvRKSt9nothrow_t(void *block, const mw_nothrow_t *tag) {
	(void)tag;
	_ZdlPv(block);
}

void _ZdlPvSt11align_val_t(void *block, size_t align) {
	mw_api_free_claimed(block, MW_NO_CLAIM, align, "operator delete");
}

void _ZdlPvmSt11align_val_t(void *block, size_t bytes, size_t align) {
	mw_api_free_claimed(block, bytes, align, "operator delete");
}

void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *block, size_t align, const mw_nothrow_t *tag) {
	(void)tag;
	_ZdlPvSt11align_val_t(block, align);
}

void _ZdaPv(void *block) {
	mw_api_free_claimed(block, MW_NO_CLAIM, MW_NO_CLAIM, "operator delete[]");
}

void _ZdaPvm(void *block, size_t bytes) {
	mw_api_free_claimed(block, bytes, MW_NO_CLAIM, "operator delete[]");
}

void _ZdaPvRKSt9nothrow_t(void *block, const mw_nothrow_t *tag) {
	(void)tag;
	_ZdaPv(block);
}

void _ZdaPvSt11align_val_t(void *block, size_t align) {
	mw_api_free_claimed(block, MW_NO_CLAIM, align, "operator delete[]");
}

void _ZdaPvmSt11align_val_t(void *block, size_t bytes, size_t align) {
	mw_api_free_claimed(block, bytes, align, "operator delete[]");
}

void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *block, size_t align, const mw_nothrow_t *tag) {
	(void)tag;
	_ZdaPvSt11align_val_t(block, align);
}
