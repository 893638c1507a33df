/* SPDX-License-Identifier: MIT
 * jemalloc.h -- prototypes of what jemalloc.c and jemalloc_stats.c define, as exported.
 * Layer: api. */
#ifndef MW_API_JEMALLOC_H
#define MW_API_JEMALLOC_H

#include <stddef.h>

#include "base/compiler.h"

/* A program that defines one of these takes its place. */
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
