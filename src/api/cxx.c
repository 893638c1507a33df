/* SPDX-License-Identifier: MIT
 * cxx.c -- operator new and delete.
 *
 * Exceptions: std::bad_alloc is thrown by libstdc++ itself (std::__throw_bad_alloc), found at run
 * time, and unwinds through these C functions by their unwind tables. */
#include "api/cxx.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "api/alloc.h"
#include "api/process/start.h"
#include "base/check.h"
#include "os/platform/libc_calls.h"

/* Finds a function of libstdc++ if dlopen(3) loaded libstdc++ after the program started. The symbol
 * may have local scope, so the search starts at the object that contains `caller`. */
static MW_COLD void *find_late(const char *name, void *caller) {
	const mw_libc_calls_t *libc = &mw_libc_calls;
	Dl_info object;
	mw_libc_calls_find();
	if (!libc->dlsym || !libc->dladdr || !libc->dlopen || !libc->dlclose)
		return NULL;
	void *found = libc->dlsym(RTLD_DEFAULT, name);
	if (found || !libc->dladdr(caller, &object))
		return found;
	void *handle = libc->dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!handle)
		return NULL;
	found = libc->dlsym(handle, name);
	libc->dlclose(handle);
	return found;
}

static void refuse_to_fail(void) {
	if (!mw_api_policy.infallible_new)
		return;
	mw_fatal_line("<jemalloc>: Allocation failed and opt.experimental_infallible_new is true. "
		      "Aborting.");
}

bool mw_cxx_call_new_handler(void *caller) {
	refuse_to_fail();
	mw_new_handler_t (*get_handler)(void) = mw_cxx_library.get_new_handler;
	if (!get_handler)
		*(void **)&get_handler = find_late("_ZSt15get_new_handlerv", caller);
	mw_new_handler_t handler = get_handler ? get_handler() : NULL;
	if (handler)
		handler();
	return handler != NULL;
}

void mw_cxx_throw_bad_alloc(void *caller) {
	void (*throw_bad_alloc)(void) = mw_cxx_library.throw_bad_alloc;
	if (!throw_bad_alloc)
		*(void **)&throw_bad_alloc = find_late("_ZSt17__throw_bad_allocv", caller);
	if (throw_bad_alloc)
		throw_bad_alloc();
	mw_fatal("operator new: out of memory, and no libstdc++ to throw std::bad_alloc");
}

/* Returns if the new handler may have made room. */
static void make_room(void *caller) {
	if (!mw_cxx_call_new_handler(caller))
		mw_cxx_throw_bad_alloc(caller);
}

/* ---- what the program has replaced ---- */

/* Symbol that a form of the operator has in this library: its public name, which another definition
 * may replace, or a private name. */
#define OWN(name) OWN_TEXT(name)
#define OWN_TEXT(name) __attribute__((alias(#name), visibility("hidden")))
extern void *own_new(size_t) OWN(_Znwm);
extern void *own_new_aligned(size_t, size_t) OWN(_ZnwmSt11align_val_t);
extern void own_delete(void *) OWN(_ZdlPv);
extern void own_delete_array(void *) OWN(_ZdaPv);
extern void own_delete_aligned(void *, size_t) OWN(_ZdlPvSt11align_val_t);
extern void own_delete_array_aligned(void *, size_t) OWN(_ZdaPvSt11align_val_t);

/* true: another object defines an operator that some form here must call. Each form then calls it
 * by its public name. */
static bool is_replaced;

/* The fast path of new[] uses this variable, those of delete use mw_api_sized_map. If the program
 * replaces operators, array_limit is 0 and the map has no chunk, so that the fast paths need no
 * further test. */
static size_t array_limit = MW_TINY_MAX_BYTES + 1; /* limit in bytes for new[] */

static bool differ(const void *visible, const void *own) {
	/* Hides the address from the compiler, which would otherwise assume that an alias is the
	 * same function. */
	__asm__("" : "+r"(visible));
	return visible != own;
}

void mw_cxx_start(void) {
	is_replaced =
		differ((const void *)_Znwm, (const void *)own_new) ||
		differ((const void *)_ZnwmSt11align_val_t, (const void *)own_new_aligned) ||
		differ((const void *)_ZdlPv, (const void *)own_delete) ||
		differ((const void *)_ZdaPv, (const void *)own_delete_array) ||
		differ((const void *)_ZdlPvSt11align_val_t, (const void *)own_delete_aligned) ||
		differ((const void *)_ZdaPvSt11align_val_t, (const void *)own_delete_array_aligned);
	if (MW_LIKELY(!is_replaced))
		return;
	array_limit = 0;
	if (!mw_api_divert_sized())
		mw_warn("no memory for a table: the sized forms of operator delete do not call the "
			"program's own operator delete");
}

/* ---- new ---- */

static MW_NOINLINE void *new_slow(size_t bytes, void *caller) {
	for (;;) {
		void *block = mw_api_alloc(bytes);
		if (MW_LIKELY(block != NULL))
			return block;
		make_room(caller);
	}
}

static MW_NOINLINE void *new_aligned(size_t bytes, size_t align, void *caller) {
	for (;;) {
		void *block = mw_api_aligned(align, bytes);
		if (MW_LIKELY(block != NULL))
			return block;
		make_room(caller);
	}
}

void *_Znwm(size_t bytes) {
	void *block = mw_api_alloc_fast(bytes);
	if (MW_LIKELY(block != NULL))
		return block;
	return new_slow(bytes, __builtin_return_address(0));
}

static MW_NOINLINE void *new_array_rest(size_t bytes, void *caller) {
	if (MW_UNLIKELY(is_replaced))
		return _Znwm(bytes);
	void *block = mw_api_alloc_fast(bytes);
	return MW_LIKELY(block != NULL) ? block : new_slow(bytes, caller);
}

void *_Znam(size_t bytes) {
	if (MW_LIKELY(bytes < array_limit)) {
		void *block = MW_HARDEN_ON ? mw_harden_alloc_tiny(bytes)
					   : mw_fast_pop(mw_class_of_tiny[bytes]);
		if (MW_LIKELY(block != NULL))
			return block;
	}
	return new_array_rest(bytes, __builtin_return_address(0));
}

void *_ZnwmSt11align_val_t(size_t bytes, size_t align) {
	return new_aligned(bytes, align, __builtin_return_address(0));
}

void *_ZnamSt11align_val_t(size_t bytes, size_t align) {
	if (MW_UNLIKELY(is_replaced))
		return _ZnwmSt11align_val_t(bytes, align);
	return new_aligned(bytes, align, __builtin_return_address(0));
}

/* ---- delete ---- */

MW_ALWAYS_INLINE void delete_rest(void *block, size_t bytes, size_t align, const char *function) {
	if (MW_HARDEN_ON)
		mw_harden_free_claimed(function, block, bytes, align);
	else
		mw_heap_free_claimed(block, bytes, align, function);
}

/* Frees the block in a form that must call another operator's form. Returns false if the program
 * replaced operators; the caller then calls the replaced one. */
MW_ALWAYS_INLINE bool delete_at_once(void *block) {
	return !MW_HARDEN_ON && MW_LIKELY(mw_fast_free_by(mw_api_sized_map, block));
}

void _ZdlPv(void *block) {
	mw_api_free_claimed(block, MW_NO_CLAIM, MW_NO_CLAIM, "operator delete");
}

void _ZdlPvm(void *block, size_t bytes) {
	if (delete_at_once(block))
		return;
	if (MW_UNLIKELY(is_replaced))
		_ZdlPv(block);
	else
		delete_rest(block, bytes, MW_NO_CLAIM, "operator delete");
}

void _ZdlPvSt11align_val_t(void *block, size_t align) {
	mw_api_free_claimed(block, MW_NO_CLAIM, align, "operator delete");
}

void _ZdlPvmSt11align_val_t(void *block, size_t bytes, size_t align) {
	if (delete_at_once(block))
		return;
	if (MW_UNLIKELY(is_replaced))
		_ZdlPvSt11align_val_t(block, align);
	else
		delete_rest(block, bytes, align, "operator delete");
}

void _ZdaPv(void *block) {
	if (delete_at_once(block))
		return;
	if (MW_UNLIKELY(is_replaced))
		_ZdlPv(block);
	else
		delete_rest(block, MW_NO_CLAIM, MW_NO_CLAIM, "operator delete[]");
}

void _ZdaPvm(void *block, size_t bytes) {
	if (delete_at_once(block))
		return;
	if (MW_UNLIKELY(is_replaced))
		_ZdaPv(block);
	else
		delete_rest(block, bytes, MW_NO_CLAIM, "operator delete[]");
}

void _ZdaPvSt11align_val_t(void *block, size_t align) {
	if (delete_at_once(block))
		return;
	if (MW_UNLIKELY(is_replaced))
		_ZdlPvSt11align_val_t(block, align);
	else
		delete_rest(block, MW_NO_CLAIM, align, "operator delete[]");
}

void _ZdaPvmSt11align_val_t(void *block, size_t bytes, size_t align) {
	if (delete_at_once(block))
		return;
	if (MW_UNLIKELY(is_replaced))
		_ZdaPvSt11align_val_t(block, align);
	else
		delete_rest(block, bytes, align, "operator delete[]");
}
