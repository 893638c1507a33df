/* SPDX-License-Identifier: MIT
 * dlopen.c -- dlopen(3) without RTLD_DEEPBIND (doc/adr/0018).
 * An object loaded with that flag looks for symbols in itself and its dependencies first, libc
 * among them: it would free with libc's free() what libc's strdup() took from this library.  PHP
 * loads its extensions so. */
#include <dlfcn.h>
#include <stdatomic.h>

#include "api/alloc.h"
#include "base/compiler.h"

typedef void *dlopen_t(const char *file, int mode);

static _Atomic(dlopen_t *) next_dlopen;

/* dlsym() may allocate, and so start the library. */
static MW_COLD dlopen_t *find_next(void) {
	dlopen_t *next;
	*(void **)&next = dlsym(RTLD_NEXT, "dlopen");
	atomic_store_explicit(&next_dlopen, next, memory_order_relaxed);
	return next;
}

/* A jump, at any level of optimisation: dlopen() searches the run paths and the namespace of the
 * object that it returns to. */
MW_EXPORT MW_TAIL_CALLER void *dlopen(const char *file, int mode) {
	dlopen_t *next = atomic_load_explicit(&next_dlopen, memory_order_relaxed);
	if (MW_UNLIKELY(next == NULL) && (next = find_next()) == NULL)
		return NULL; /* dlerror() says why */
	if (!mw_api_policy.keep_deepbind)
		mode &= ~RTLD_DEEPBIND;
	MW_TAIL_CALL next(file, mode);
}
