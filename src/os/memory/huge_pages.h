/* SPDX-License-Identifier: MIT
 * huge_pages.h -- use of huge pages of 2 MiB for the heap's memory.
 * Layer: os/memory.  Set before threads exist, read without a lock.  errno kept. */
#ifndef MW_OS_HUGE_PAGES_H
#define MW_OS_HUGE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

#define MW_OS_HUGE_PAGE_BYTES ((size_t)2 << 20)

/* The system's setting, for a process that did not disable huge pages for itself (prctl(2)). */
typedef enum mw_os_huge_pages_setting {
	MW_OS_HUGE_PAGES_SYSTEM_NEVER = 1, /* or unknown */
	MW_OS_HUGE_PAGES_SYSTEM_MADVISE,
	MW_OS_HUGE_PAGES_SYSTEM_ALWAYS,
} mw_os_huge_pages_setting_t;

/* How much of a mapping the program is going to use. */
typedef enum mw_os_huge_pages_use {
	MW_OS_HUGE_PAGES_LITTLE,  /* perhaps little: memory of a small heap */
	MW_OS_HUGE_PAGES_ALL,     /* all of it soon: memory of a heap that grew */
	MW_OS_HUGE_PAGES_UNKNOWN, /* a huge block of the program, who may use any part */
} mw_os_huge_pages_use_t;

/* The values are in the order of the words of option `thp`. */
typedef enum mw_os_huge_pages {
	MW_OS_HUGE_PAGES_DEFAULT, /* by the heap's size, as the system is set */
	MW_OS_HUGE_PAGES_ALWAYS,  /* MADV_HUGEPAGE */
	MW_OS_HUGE_PAGES_NEVER,   /* MADV_NOHUGEPAGE */
} mw_os_huge_pages_t;

/* `pool`: also use huge pages that the administrator reserved (hugetlbfs), while there are any. */
void mw_os_huge_pages_set(mw_os_huge_pages_t mode, bool pool);
/* Returns the alignment in bytes for a mapping of this size, at least MW_OS_PAGE_BYTES. */
size_t mw_os_huge_pages_align(size_t bytes);
/* Tells the kernel whether a new mapping, which nobody touched yet, shall have huge pages. With
 * MW_OS_HUGE_PAGES_DEFAULT: LITTLE gets none, ALL gets them unless the system's setting is `never`,
 * UNKNOWN is left to the setting. Returns true if the kernel agreed, and page faults in the mapping
 * are going to bring huge pages; false for UNKNOWN that is left to the setting. */
bool mw_os_huge_pages_advise(void *base, size_t bytes, mw_os_huge_pages_use_t use);
/* Keeps the kernel from joining pages to a huge page again there, since part of one was purged. Has
 * no effect with MW_OS_HUGE_PAGES_ALWAYS, and after thousands of calls: each makes a mapping of its
 * own, of which a process may have 65,530 (vm.max_map_count). */
MW_COLD void mw_os_huge_pages_avoid(void *base, size_t bytes);
/* Has no huge page come where these variables and their neighbours are, whatever the setting. */
MW_COLD void mw_os_huge_pages_never(void *start, size_t bytes);
/* Returns how many of these calls requested huge pages and were refused. */
MW_COLD size_t mw_os_huge_pages_refused(void);
/* Replaces an untouched mapping, aligned to 2 MiB, by pages of the pool. Such memory must not be
 * purged, because the pool may be empty at the next touch. Returns false if the pool has too few
 * pages; the mapping is then unchanged, or, if *lost is set, gone. */
bool mw_os_huge_pages_from_pool(void *base, size_t bytes, bool *lost);

#ifdef MW_TESTING
/* For tests: pretends that the system has this setting; 0: it is read again. */
void mw_os_huge_pages_set_fake(mw_os_huge_pages_setting_t setting);
#endif

#endif
