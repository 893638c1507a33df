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
#include "os/platform/loaded_symbol.h"

#ifndef RTLD_DEEPBIND /* musl searches in no other order */
#define RTLD_DEEPBIND 0
#endif

typedef void *dlopen_t(const char *file, int mode);

static _Atomic(dlopen_t *) next_dlopen;

/* glibc before 2.34 has the function in libdl, which another library may have loaded late. */
static MW_COLD dlopen_t *find_next(void) {
	dlopen_t *next = NULL;
	mw_os_find_symbols("dlopen", 0, 1, (void **)&next, true);
	atomic_store_explicit(&next_dlopen, next, memory_order_relaxed);
	return next;
}

/* The call of libc's dlopen() is a jump, because dlopen() uses the run paths and the namespace of
 * the object that contains its return address. */
MW_EXPORT MW_TAIL_CALLER void *dlopen(const char *file, int mode) {
	dlopen_t *next = atomic_load_explicit(&next_dlopen, memory_order_relaxed);
	if (MW_UNLIKELY(next == NULL) && (next = find_next()) == NULL)
		return NULL; /* no caller has a libdl either */
	if (!mw_api_policy.keep_deepbind)
		mode &= ~RTLD_DEEPBIND;
	MW_TAIL_CALL next(file, mode);
}
