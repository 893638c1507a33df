/* SPDX-License-Identifier: MIT
 * jemalloc.h -- jemalloc's functions and variables, as exported.
 * Layer: compat/jemalloc, the door of this folder. Names of jemalloc on top of src/api; no other
 * folder knows them.
 *
 * Reading order: jemalloc.c (mallocx() and others), malloc_stats_print.c, stats_print.h (shared by
 * its two forms), stats_json.c, stats_tables.c, stats_columns.c; mallctl/ holds the control
 * names. */
#ifndef MW_COMPAT_JEMALLOC_JEMALLOC_H
#define MW_COMPAT_JEMALLOC_JEMALLOC_H

#include <stddef.h>

#include "base/compiler.h"

/* A definition in the program replaces this one. */
extern MW_EXPORT const char *malloc_conf;
extern MW_EXPORT const char *malloc_conf_2_conf_harder;
extern MW_EXPORT void (*malloc_message)(void *context, const char *text);
MW_EXPORT void *mallocx(size_t size, int flags);
MW_EXPORT void *rallocx(void *block, size_t size, int flags);
MW_EXPORT size_t xallocx(void *block, size_t size, size_t extra, int flags);
MW_EXPORT size_t sallocx(const void *block, int flags);
MW_EXPORT void dallocx(void *block, int flags);
MW_EXPORT void sdallocx(void *block, size_t size, int flags);
MW_EXPORT size_t nallocx(size_t size, int flags);
MW_EXPORT int mallctl(const char *name, void *old, size_t *old_length, void *new_value,
		      size_t new_length);
MW_EXPORT int mallctlnametomib(const char *name, size_t *mib, size_t *mib_length);
MW_EXPORT int mallctlbymib(const size_t *mib, size_t mib_length, void *old, size_t *old_length,
			   void *new_value, size_t new_length);
MW_EXPORT void malloc_stats_print(void (*write)(void *, const char *), void *context,
				  const char *options);

#endif
