/* SPDX-License-Identifier: MIT
 * new.c -- tc_version(), nallocx(), and those of the operators that are not jumps.
 *
 * The nothrow forms of operator new are libstdc++'s, which call the throwing ones in a try block.
 * A program without libstdc++ has no handler to call, and gets malloc(). */
#include <gperftools/nallocx.h>
#include <gperftools/tcmalloc.h>

#include <stdatomic.h>
#include <stdlib.h>

#include "compat/gperftools/gperftools.h"

#pragma GCC visibility push(default)
extern void *_ZnwmRKSt9nothrow_t(size_t, const void *) __attribute__((weak));
extern void *_ZnamRKSt9nothrow_t(size_t, const void *) __attribute__((weak));
extern void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t, size_t, const void *) __attribute__((weak));
extern void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t, size_t, const void *) __attribute__((weak));
#pragma GCC visibility pop

static _Atomic int new_mode;

MW_EXPORT const char *tc_version(int *major, int *minor, const char **patch) {
	if (major)
		*major = TC_VERSION_MAJOR;
	if (minor)
		*minor = TC_VERSION_MINOR;
	if (patch)
		*patch = TC_VERSION_PATCH;
	return TC_VERSION_STRING;
}

size_t nallocx(size_t size, int flags) {
	unsigned align_log2 = (unsigned)flags & 0x3f;
	return mw_gp_calls()->blocks.usable_for((size_t)1 << align_log2, size);
}

int tc_set_new_mode(int flag) {
	return atomic_exchange_explicit(&new_mode, flag, memory_order_relaxed);
}

int tc_query_new_mode(void) {
	return new_mode;
}

void *tc_new_nothrow(size_t bytes, const void *nothrow) {
	return _ZnwmRKSt9nothrow_t ? _ZnwmRKSt9nothrow_t(bytes, nothrow) : malloc(bytes);
}

void *tc_newarray_nothrow(size_t bytes, const void *nothrow) {
	return _ZnamRKSt9nothrow_t ? _ZnamRKSt9nothrow_t(bytes, nothrow) : malloc(bytes);
}

void *tc_new_aligned_nothrow(size_t bytes, size_t align, const void *nothrow) {
	return _ZnwmSt11align_val_tRKSt9nothrow_t
		       ? _ZnwmSt11align_val_tRKSt9nothrow_t(bytes, align, nothrow)
		       : memalign(align, bytes);
}

void *tc_newarray_aligned_nothrow(size_t bytes, size_t align, const void *nothrow) {
	return _ZnamSt11align_val_tRKSt9nothrow_t
		       ? _ZnamSt11align_val_tRKSt9nothrow_t(bytes, align, nothrow)
		       : memalign(align, bytes);
}
