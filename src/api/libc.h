/* SPDX-License-Identifier: MIT
 * libc.h -- prototypes of the functions in libc.c; the C23 names are not in glibc 2.36's
 * headers.
 * Layer: api, the door of this folder. The folder holds the functions that programs call; it may
 * use everything in src/. Reading order: libc, alloc (slow paths that all names share),
 * process/ (start, fork, exit), cxx (operators; cxx_archive and cxx_shared find libstdc++'s
 * functions), mallow.c (<mallow/mallow.h>), info.c (mallinfo(3)), compat/ (functions for
 * libraries of lib/mallow/compat/).
 *
 * Any thread may call any of them. A signal handler may call none. errno is set as in
 * glibc. */
#ifndef MW_API_LIBC_H
#define MW_API_LIBC_H

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"

MW_EXPORT void *malloc(size_t bytes);
MW_EXPORT void *calloc(size_t count, size_t each_bytes);
MW_EXPORT void *realloc(void *block, size_t bytes);
MW_EXPORT void *reallocarray(void *block, size_t count, size_t each_bytes);
MW_EXPORT void free(void *block);
/* The caller promises that the size is that of the request. doc/user/safety.md lists where the
 * library checks it. */
MW_EXPORT void free_sized(void *block, size_t bytes);
MW_EXPORT void free_aligned_sized(void *block, size_t align, size_t bytes);
MW_EXPORT int posix_memalign(void **result, size_t align, size_t bytes);
MW_EXPORT void *aligned_alloc(size_t align, size_t bytes);
MW_EXPORT void *memalign(size_t align, size_t bytes);
MW_EXPORT void *valloc(size_t bytes);
MW_EXPORT void *pvalloc(size_t bytes);
MW_EXPORT size_t malloc_usable_size(void *block);
MW_EXPORT int malloc_trim(size_t pad_bytes);
MW_EXPORT void malloc_stats(void);
MW_EXPORT int malloc_info(int options, FILE *file);
#ifdef M_MXFAST /* not with musl, whose programs have no types and parameters for these */
MW_EXPORT struct mallinfo2 mallinfo2(void);
MW_EXPORT struct mallinfo mallinfo(void);
MW_EXPORT int mallopt(int parameter, int value);
#endif

#endif
