/* SPDX-License-Identifier: MIT
 * jemalloc.h -- jemalloc's interface as mallow offers it; for programs that are compiled anew.
 * What each name, flag and control does here: doc/jemalloc.md.  Functions that return int return 0
 * or a number of <errno.h>. */
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
extern const char *malloc_conf;
extern const char *malloc_conf_2_conf_harder;

/* Where malloc_stats_print() writes when it is not told; NULL: stderr. */
extern void (*malloc_message)(void *context, const char *text);

void *mallocx(size_t size, int flags);
void *rallocx(void *block, size_t size, int flags);
size_t xallocx(void *block, size_t size, size_t extra, int flags);
size_t sallocx(const void *block, int flags);
void dallocx(void *block, int flags);
void sdallocx(void *block, size_t size, int flags);
size_t nallocx(size_t size, int flags);
int mallctl(const char *name, void *old, size_t *old_length, void *new_value, size_t new_length);
int mallctlnametomib(const char *name, size_t *mib, size_t *mib_length);
int mallctlbymib(const size_t *mib, size_t mib_length, void *old, size_t *old_length,
		 void *new_value, size_t new_length);
void malloc_stats_print(void (*write)(void *, const char *), void *context, const char *options);
size_t malloc_usable_size(void *block);

#ifdef __cplusplus
}
#endif

#endif
