/* SPDX-License-Identifier: MIT
 * jemalloc.h -- jemalloc's interface as mallow offers it; for programs that are compiled anew.
 * doc/reference/jemalloc.md tells of each name, flag and control.  Functions that return int return
 * 0 or a number of <errno.h>. */
#ifndef JEMALLOC_H_
#define JEMALLOC_H_

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <strings.h>

#ifdef __cplusplus
extern "C" {
#endif

#define JEMALLOC_VERSION "5.3.1-0-gmallow"
#define JEMALLOC_VERSION_MAJOR 5
#define JEMALLOC_VERSION_MINOR 3
#define JEMALLOC_VERSION_BUGFIX 1
#define JEMALLOC_VERSION_NREV 0
#define JEMALLOC_VERSION_GID "mallow"
#define JEMALLOC_VERSION_GID_IDENT mallow

/* The results of jemalloc's configuration on 64-bit Linux with the GNU builtins. */
#define JEMALLOC_HAVE_ATTR
#define JEMALLOC_HAVE_ATTR_ALLOC_SIZE
#define JEMALLOC_HAVE_ATTR_FORMAT_ARG
#define JEMALLOC_HAVE_ATTR_FORMAT_GNU_PRINTF
#define JEMALLOC_HAVE_ATTR_FORMAT_PRINTF
#define JEMALLOC_HAVE_ATTR_FALLTHROUGH
#define JEMALLOC_HAVE_ATTR_COLD
#define JEMALLOC_OVERRIDE_MEMALIGN
#define JEMALLOC_OVERRIDE_VALLOC
#define JEMALLOC_OVERRIDE_PVALLOC
#define JEMALLOC_USABLE_SIZE_CONST
#define JEMALLOC_USE_CXX_THROW
#define LG_SIZEOF_PTR 3

/* Attributes.  Functions that libc's headers declare as well have the same exception specification
 * there. */
#if !defined(__cplusplus)
#define JEMALLOC_CXX_THROW
#elif __cplusplus >= 201103L
#define JEMALLOC_CXX_THROW noexcept(true)
#else
#define JEMALLOC_CXX_THROW throw()
#endif
#define JEMALLOC_ATTR(s) __attribute__((s))
#define JEMALLOC_ALIGNED(s) JEMALLOC_ATTR(__aligned__(s))
#define JEMALLOC_ALLOC_SIZE(s) JEMALLOC_ATTR(__alloc_size__(s))
#define JEMALLOC_ALLOC_SIZE2(s1, s2) JEMALLOC_ATTR(__alloc_size__(s1, s2))
#ifndef JEMALLOC_EXPORT
#define JEMALLOC_EXPORT JEMALLOC_ATTR(__visibility__("default"))
#endif
#define JEMALLOC_FORMAT_ARG(i) JEMALLOC_ATTR(__format_arg__(3))
#ifdef __clang__
#define JEMALLOC_FORMAT_PRINTF(s, i) JEMALLOC_ATTR(__format__(__printf__, s, i))
#else
#define JEMALLOC_FORMAT_PRINTF(s, i) JEMALLOC_ATTR(__format__(__gnu_printf__, s, i))
#endif
#define JEMALLOC_FALLTHROUGH JEMALLOC_ATTR(__fallthrough__)
#define JEMALLOC_NOINLINE JEMALLOC_ATTR(__noinline__)
#define JEMALLOC_NOTHROW JEMALLOC_ATTR(__nothrow__)
#define JEMALLOC_SYS_NOTHROW JEMALLOC_NOTHROW
#define JEMALLOC_SECTION(s) JEMALLOC_ATTR(__section__(s))
#define JEMALLOC_COLD JEMALLOC_ATTR(__cold__)
#define JEMALLOC_RESTRICT_RETURN
#define JEMALLOC_ALLOCATOR

/* Programs that say je_malloc() reach this library's names. */
#ifndef JEMALLOC_NO_RENAME
#define je_aligned_alloc aligned_alloc
#define je_calloc calloc
#define je_dallocx dallocx
#define je_free free
#define je_free_aligned_sized free_aligned_sized
#define je_free_sized free_sized
#define je_mallctl mallctl
#define je_mallctlbymib mallctlbymib
#define je_mallctlnametomib mallctlnametomib
#define je_malloc malloc
#define je_malloc_conf malloc_conf
#define je_malloc_conf_2_conf_harder malloc_conf_2_conf_harder
#define je_malloc_message malloc_message
#define je_malloc_stats_print malloc_stats_print
#define je_malloc_usable_size malloc_usable_size
#define je_mallocx mallocx
#define je_memalign memalign
#define je_nallocx nallocx
#define je_posix_memalign posix_memalign
#define je_pvalloc pvalloc
#define je_rallocx rallocx
#define je_realloc realloc
#define je_sallocx sallocx
#define je_sdallocx sdallocx
#define je_valloc valloc
#define je_xallocx xallocx
#endif

/* Alignments are powers of two: their logarithm takes the lowest six bits. */
#define MALLOCX_LG_ALIGN(la) ((int)(la))
#define MALLOCX_ALIGN(a)                                                                           \
	((int)((size_t)(a) < (size_t)INT_MAX ? ffs((int)(a)) - 1                                   \
					     : ffs((int)((size_t)(a) >> 32)) + 31))
#define MALLOCX_ZERO ((int)0x40)
#define MALLOCX_TCACHE(tc) ((int)(((tc) + 2) << 8))
#define MALLOCX_TCACHE_NONE MALLOCX_TCACHE(-1)
#define MALLOCX_ARENA(a) ((((int)(a)) + 1) << 20)

/* In "arena.<i>.*" and "stats.arenas.<i>.*": all arenas, those destroyed.  Plain numbers, because
 * programs paste them into names. */
#define MALLCTL_ARENAS_ALL 4096
#define MALLCTL_ARENAS_DESTROYED 4097

typedef struct extent_hooks_s extent_hooks_t;
typedef void *(extent_alloc_t)(extent_hooks_t *, void *, size_t, size_t, bool *, bool *, unsigned);
typedef bool(extent_dalloc_t)(extent_hooks_t *, void *, size_t, bool, unsigned);
typedef void(extent_destroy_t)(extent_hooks_t *, void *, size_t, bool, unsigned);
typedef bool(extent_commit_t)(extent_hooks_t *, void *, size_t, size_t, size_t, unsigned);
typedef bool(extent_decommit_t)(extent_hooks_t *, void *, size_t, size_t, size_t, unsigned);
typedef bool(extent_purge_t)(extent_hooks_t *, void *, size_t, size_t, size_t, unsigned);
typedef bool(extent_split_t)(extent_hooks_t *, void *, size_t, size_t, size_t, bool, unsigned);
typedef bool(extent_merge_t)(extent_hooks_t *, void *, size_t, void *, size_t, bool, unsigned);
struct extent_hooks_s {
	extent_alloc_t *alloc;
	extent_dalloc_t *dalloc;
	extent_destroy_t *destroy;
	extent_commit_t *commit;
	extent_decommit_t *decommit;
	extent_purge_t *purge_lazy;
	extent_purge_t *purge_forced;
	extent_split_t *split;
	extent_merge_t *merge;
};

/* Options of the program, "name:value,name:value": it defines one of these, or both.  The first is
 * read before /etc/malloc.conf and MALLOC_CONF, the second after them. */
extern JEMALLOC_EXPORT const char *malloc_conf;
extern JEMALLOC_EXPORT const char *malloc_conf_2_conf_harder;

/* Where malloc_stats_print() writes when it is not told; NULL: stderr. */
extern JEMALLOC_EXPORT void (*malloc_message)(void *context, const char *text);

#define JEMALLOC_LIBC JEMALLOC_EXPORT JEMALLOC_SYS_NOTHROW
#define JEMALLOC_OWN JEMALLOC_EXPORT JEMALLOC_NOTHROW

/* The standard functions, and libc's others. */
JEMALLOC_LIBC void *malloc(size_t size) JEMALLOC_CXX_THROW;
JEMALLOC_LIBC void *calloc(size_t count, size_t size) JEMALLOC_CXX_THROW;
JEMALLOC_LIBC int posix_memalign(void **result, size_t alignment, size_t size) JEMALLOC_CXX_THROW;
JEMALLOC_LIBC void *aligned_alloc(size_t alignment, size_t size) JEMALLOC_CXX_THROW;
JEMALLOC_LIBC void *realloc(void *block, size_t size) JEMALLOC_CXX_THROW;
JEMALLOC_LIBC void free(void *block) JEMALLOC_CXX_THROW;
JEMALLOC_LIBC void free_sized(void *block, size_t size) JEMALLOC_CXX_THROW;
JEMALLOC_LIBC void free_aligned_sized(void *block, size_t alignment,
				      size_t size) JEMALLOC_CXX_THROW;
JEMALLOC_LIBC void *memalign(size_t alignment, size_t size) JEMALLOC_CXX_THROW;
JEMALLOC_LIBC void *valloc(size_t size) JEMALLOC_CXX_THROW;
JEMALLOC_LIBC void *pvalloc(size_t size) JEMALLOC_CXX_THROW;
JEMALLOC_LIBC size_t malloc_usable_size(void *block) JEMALLOC_CXX_THROW;

JEMALLOC_OWN JEMALLOC_ATTR(__malloc__) JEMALLOC_ALLOC_SIZE(1) void *mallocx(size_t size, int flags);
JEMALLOC_OWN JEMALLOC_ALLOC_SIZE(2) void *rallocx(void *block, size_t size, int flags);
JEMALLOC_OWN size_t xallocx(void *block, size_t size, size_t extra, int flags);
JEMALLOC_OWN JEMALLOC_ATTR(__pure__) size_t sallocx(const void *block, int flags);
JEMALLOC_OWN void dallocx(void *block, int flags);
JEMALLOC_OWN void sdallocx(void *block, size_t size, int flags);
JEMALLOC_OWN JEMALLOC_ATTR(__pure__) size_t nallocx(size_t size, int flags);
JEMALLOC_OWN int mallctl(const char *name, void *old, size_t *old_length, void *new_value,
			 size_t new_length);
JEMALLOC_OWN int mallctlnametomib(const char *name, size_t *mib, size_t *mib_length);
JEMALLOC_OWN int mallctlbymib(const size_t *mib, size_t mib_length, void *old, size_t *old_length,
			      void *new_value, size_t new_length);
JEMALLOC_OWN void malloc_stats_print(void (*write)(void *, const char *), void *context,
				     const char *options);

#ifdef __cplusplus
}
#endif

#endif
