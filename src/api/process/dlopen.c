/* SPDX-License-Identifier: MIT
 * dlopen.c -- dlopen(3) without RTLD_DEEPBIND (doc/adr/0018). An object loaded with that flag
 * searches itself and its dependencies for symbols first, including libc. It would call libc's
 * free() for a block that libc's strdup() allocated from this library. PHP loads its extensions
 * with this flag. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

#include "api/process/start.h"
#include "base/compiler.h"

typedef void *dlopen_t(const char *file, int mode);

static _Atomic(dlopen_t *) next_dlopen;

/* dlsym() may allocate and thereby start the library. */
static MW_COLD dlopen_t *find_next(void) {
	dlopen_t *next;
	*(void **)&next = dlsym(RTLD_NEXT, "dlopen");
	atomic_store_explicit(&next_dlopen, next, memory_order_relaxed);
	return next;
}

/* The call of libc's dlopen() is a jump, because dlopen() uses the run paths and the namespace of
 * the object that contains its return address. */
MW_EXPORT MW_TAIL_CALLER void *dlopen(const char *file, int mode) {
	dlopen_t *next = atomic_load_explicit(&next_dlopen, memory_order_relaxed);
	if (MW_UNLIKELY(next == NULL) && (next = find_next()) == NULL)
		return NULL; /* dlerror() reports the reason */
	if (!mw_api_policy.keep_deepbind)
		mode &= ~RTLD_DEEPBIND;
	MW_TAIL_CALL next(file, mode);
}
