/* SPDX-License-Identifier: MIT
 * mallctl.h -- jemalloc's tree of control names.
 * Layer: compat/jemalloc/mallctl, the door of this folder. Results are numbers of <errno.h>, as
 * jemalloc's. Nothing is allocated; one lock (MW_RANK_CTL) is held while statistics are taken;
 * not for signal handlers.
 *
 * A MIB has an element for each part of its name. An index is its own element, the first element is
 * the number of the name's row, and the others are 0.
 *
 * Reading order: mallctl.def (one row per name), mallctl.c (finds a row), mallctl_row.h (shared by
 * the functions of rows), then one file per subtree: values, arena, stats, slabs, tcache, prof,
 * hooks. */
#ifndef MW_COMPAT_JEMALLOC_MALLCTL_MALLCTL_H
#define MW_COMPAT_JEMALLOC_MALLCTL_MALLCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MW_CTL_PARTS_MAX 7u
/* Indices with names in jemalloc's header. */
#define MW_CTL_ARENAS_ALL 4096u
#define MW_CTL_ARENAS_DESTROYED 4097u
/* Largest number of tcaches that a program can create. */
#define MW_CTL_TCACHES_MAX 4094u

int mw_mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length);
int mw_mallctl_by_mib(const size_t *mib, size_t parts, void *old, size_t *old_length, void *new,
		      size_t new_length);
/* *parts: on entry the capacity of `mib`, on return its length. */
int mw_mallctl_name_to_mib(const char *name, size_t *mib, size_t *parts);

/* mallocx(), for control names that allocate; set before the first use. */
extern void *(*mw_mallctl_allocate)(size_t bytes, int flags);

/* Reads all statistics again, as a write to "epoch" does. */
void mw_mallctl_refresh(void);

/* Returns the name of a row, for listing; NULL behind the last row. */
const char *mw_mallctl_name(size_t row);
typedef enum mw_mallctl_type {
	MW_MALLCTL_FLAG,
	MW_MALLCTL_NUMBER,
	MW_MALLCTL_SIGNED,
	MW_MALLCTL_FIXED, /* 16 bits before and 16 bits behind the point; all bits set: no value */
	MW_MALLCTL_TEXT,
	MW_MALLCTL_OTHER,
} mw_mallctl_type_t;
typedef struct mw_mallctl_row {
	mw_mallctl_type_t type;
	bool readable; /* readable as one value of `bytes` bytes */
	size_t bytes;
	size_t parts; /* number of parts of the name */
} mw_mallctl_row_t;
mw_mallctl_row_t mw_mallctl_row(size_t row);
/* Returns the size of the free extents with this number in the statistics. */
uint64_t mw_mallctl_extent_bytes(size_t i);

#endif
