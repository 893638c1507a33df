/* SPDX-License-Identifier: MIT
 * huge_pages.h -- how far memory for the heap is to be made of pages of 2 MiB.
 * Layer: os.  Set before threads exist, read without a lock.  errno kept. */
#ifndef MW_OS_HUGE_PAGES_H
#define MW_OS_HUGE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

#define MW_OS_HUGE_PAGE_BYTES ((size_t)2 << 20)

/* The order is that of the option `thp`. */
typedef enum mw_os_huge_pages {
	MW_OS_HUGE_PAGES_DEFAULT, /* as /sys/kernel/mm/transparent_hugepage/enabled has it */
	MW_OS_HUGE_PAGES_ALWAYS,  /* MADV_HUGEPAGE */
	MW_OS_HUGE_PAGES_NEVER,   /* MADV_NOHUGEPAGE */
} mw_os_huge_pages_t;

/* `pool`: take pages that the administrator has set aside (hugetlbfs) as long as there are any. */
void mw_os_huge_pages_set(mw_os_huge_pages_t mode, bool pool);
/* What blocks of so many bytes should be aligned to, at least MW_OS_PAGE_BYTES. */
size_t mw_os_huge_pages_align(size_t bytes);
/* A mapping was just made: tells the kernel what is wanted.  `small_heap`: the first memory of a
 * process that may never need more; unless asked for always, it gets no huge page.  True: it was
 * asked for huge pages and agreed. */
bool mw_os_huge_pages_advise(void *base, size_t bytes, bool small_heap);
/* Of the calls before those that asked for huge pages in vain. */
MW_COLD size_t mw_os_huge_pages_refused(void);
/* Replaces an untouched mapping, aligned to 2 MiB, by pages of the pool.  Such memory must not be
 * purged: the pool may be empty when it is touched again.  False: there is no pool, or not enough
 * in it; the mapping is as it was, or, when *lost, gone. */
bool mw_os_huge_pages_from_pool(void *base, size_t bytes, bool *lost);

#endif
