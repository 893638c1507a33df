/* SPDX-License-Identifier: MIT
 * huge_pages.c -- madvise(2) for transparent huge pages, mmap(2) for huge pages of the pool. */
#include "os/memory/huge_pages.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "os/memory/map.h"
#include "os/memory/raw_map.h"
#include "os/platform/kernel_calls.h"
#include "os/platform/system_call.h"

/* Huge pages of 2 MiB (the size's binary logarithm in the bits of MAP_HUGE_SHIFT): the system's
 * default size may be another one. */
#define POOL_FLAGS (MAP_HUGETLB | 21 << 26)

static struct {
	mw_os_huge_pages_t mode;
	bool pool;
	_Atomic size_t refused;
} huge_pages;

void mw_os_huge_pages_set(mw_os_huge_pages_t mode, bool pool) {
	huge_pages.mode = mode;
	huge_pages.pool = pool;
}

size_t mw_os_huge_pages_align(size_t bytes) {
	return huge_pages.mode == MW_OS_HUGE_PAGES_ALWAYS && bytes >= MW_OS_HUGE_PAGE_BYTES
		       ? MW_OS_HUGE_PAGE_BYTES
		       : MW_OS_PAGE_BYTES;
}

bool mw_os_huge_pages_advise(void *base, size_t bytes, bool small_heap) {
	mw_os_huge_pages_t mode = huge_pages.mode;
	if (mode == MW_OS_HUGE_PAGES_DEFAULT && small_heap)
		mode = MW_OS_HUGE_PAGES_NEVER;
	if (mode == MW_OS_HUGE_PAGES_DEFAULT || bytes < MW_OS_HUGE_PAGE_BYTES)
		return false;
	int saved_errno = errno;
	bool wanted = mode == MW_OS_HUGE_PAGES_ALWAYS;
	/* A kernel without huge pages refuses both values. */
	bool agreed = mw_system_call(SYS_madvise, base, bytes,
				     wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) == 0;
	errno = saved_errno;
	if (wanted && !agreed)
		atomic_fetch_add_explicit(&huge_pages.refused, 1, memory_order_relaxed);
	return wanted && agreed;
}

size_t mw_os_huge_pages_refused(void) {
	return atomic_load_explicit(&huge_pages.refused, memory_order_relaxed);
}

bool mw_os_huge_pages_from_pool(void *base, size_t bytes, bool *lost) {
	*lost = false;
	if (!huge_pages.pool || mw_os_fault(MW_OS_MAP))
		return false;
	int saved_errno = errno;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	/* Without MAP_NORESERVE the pages are reserved by this call, or the call fails. */
	const int access = PROT_READ | PROT_WRITE;
	bool done = mw_os_raw_mmap(base, bytes, access, flags | POOL_FLAGS, -1, 0) == base;
	/* The kernel may have removed the old mapping before it found too few pages in the pool. */
	if (!done)
		*lost = mw_os_raw_mmap(base, bytes, access, flags, -1, 0) != base;
	errno = saved_errno;
	return done;
}
