/* SPDX-License-Identifier: MIT
 * mimalloc-override.h -- the malloc family under its usual names, as macros for the mi_ functions
 * of <mimalloc.h>.  Include it after all other headers of a source file. */
#ifndef MIMALLOC_OVERRIDE_H
#define MIMALLOC_OVERRIDE_H

#include <mimalloc.h>

/* C */
#define malloc(n) mi_malloc(n)
#define calloc(n, c) mi_calloc(n, c)
#define realloc(p, n) mi_realloc(p, n)
#define free(p) mi_free(p)
#define aligned_alloc(a, n) mi_aligned_alloc(a, n)

/* POSIX and GNU */
#define strdup(s) mi_strdup(s)
#define strndup(s, n) mi_strndup(s, n)
#define realpath(f, n) mi_realpath(f, n)
#define posix_memalign(p, a, n) mi_posix_memalign(p, a, n)
#define _posix_memalign(p, a, n) mi_posix_memalign(p, a, n)
#define memalign(a, n) mi_memalign(a, n)
#define valloc(n) mi_valloc(n)
#define pvalloc(n) mi_pvalloc(n)
#define malloc_usable_size(p) mi_usable_size(p)
#define cfree(p) mi_free(p)

/* BSD and macOS */
#define reallocarray(p, s, n) mi_reallocarray(p, s, n)
#define reallocarr(p, s, n) mi_reallocarr(p, s, n)
#define reallocf(p, n) mi_reallocf(p, n)
#define malloc_size(p) mi_usable_size(p)

/* Microsoft's C library */
#define _expand(p, n) mi_expand(p, n)
#define _msize(p) mi_usable_size(p)
#define _recalloc(p, n, c) mi_recalloc(p, n, c)
#define _strdup(s) mi_strdup(s)
#define _strndup(s, n) mi_strndup(s, n)
#define _wcsdup(s) (wchar_t *)mi_wcsdup((const unsigned short *)(s))
#define _mbsdup(s) mi_mbsdup(s)
#define _dupenv_s(b, n, v) mi_dupenv_s(b, n, v)
#define _wdupenv_s(b, n, v) mi_wdupenv_s((unsigned short *)(b), n, (const unsigned short *)(v))
#define _aligned_malloc(n, a) mi_malloc_aligned(n, a)
#define _aligned_realloc(p, n, a) mi_realloc_aligned(p, n, a)
#define _aligned_recalloc(p, s, n, a) mi_aligned_recalloc(p, s, n, a)
#define _aligned_msize(p, a, o) mi_usable_size(p)
#define _aligned_free(p) mi_free(p)
#define _aligned_offset_malloc(n, a, o) mi_malloc_aligned_at(n, a, o)
#define _aligned_offset_realloc(p, n, a, o) mi_realloc_aligned_at(p, n, a, o)
#define _aligned_offset_recalloc(p, s, n, a, o) mi_recalloc_aligned_at(p, s, n, a, o)

#endif
