/* SPDX-License-Identifier: MIT
 * huge_pages.h -- use of huge pages of 2 MiB for the heap's memory.
 * Layer: os/memory.  Set before threads exist, read without a lock.  errno kept. */
#ifndef MW_OS_HUGE_PAGES_H
#define MW_OS_HUGE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

#define MW_OS_HUGE_PAGE_BYTES ((size_t)2 << 20)

/* The values are in the order of the words of option `thp`. */
typedef enum mw_os_huge_pages {
	MW_OS_HUGE_PAGES_DEFAULT, /* the setting of /sys/kernel/mm/transparent_hugepage/enabled */
	MW_OS_HUGE_PAGES_ALWAYS,  /* MADV_HUGEPAGE */
	MW_OS_HUGE_PAGES_NEVER,   /* MADV_NOHUGEPAGE */
} mw_os_huge_pages_t;

/* `pool`: also use huge pages that the administrator reserved (hugetlbfs), while there are any. */
void mw_os_huge_pages_set(mw_os_huge_pages_t mode, bool pool);
/* Returns the alignment in bytes for a mapping of this size, at least MW_OS_PAGE_BYTES. */
size_t mw_os_huge_pages_align(size_t bytes);
/* Tells the kernel whether a new mapping shall have huge pages. `small_heap`: the mapping is the
 * first memory of a process that may never need more; it gets huge pages only with
 * MW_OS_HUGE_PAGES_ALWAYS. Returns true if huge pages were requested and the kernel agreed. */
bool mw_os_huge_pages_advise(void *base, size_t bytes, bool small_heap);
/* Returns how many of these calls requested huge pages and were refused. */
MW_COLD size_t mw_os_huge_pages_refused(void);
/* Replaces an untouched mapping, aligned to 2 MiB, by pages of the pool. Such memory must not be
 * purged, because the pool may be empty at the next touch. Returns false if the pool has too few
 * pages; the mapping is then unchanged, or, if *lost is set, gone. */
bool mw_os_huge_pages_from_pool(void *base, size_t bytes, bool *lost);

#endif
