/* SPDX-License-Identifier: MIT
 * huge_pages.c -- madvise(2) for transparent huge pages, mmap(2) for huge pages of the pool. */
#include "os/memory/huge_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>

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
	_Atomic unsigned avoided;
	_Atomic uint8_t setting; /* mw_os_huge_pages_setting_t; 0: not read yet */
} huge_pages;

/* Most stretches that get a mapping of their own: a fourth of what a process may have. */
#define AVOIDED_MAX 16384u

void mw_os_huge_pages_set(mw_os_huge_pages_t mode, bool pool) {
	huge_pages.mode = mode;
	huge_pages.pool = pool;
}

size_t mw_os_huge_pages_align(size_t bytes) {
	return huge_pages.mode == MW_OS_HUGE_PAGES_ALWAYS && bytes >= MW_OS_HUGE_PAGE_BYTES
		       ? MW_OS_HUGE_PAGE_BYTES
		       : mw_os_page_bytes();
}

/* A process that forbids itself system calls counts as one without huge pages. */
static MW_COLD mw_os_huge_pages_setting_t read_setting(void) {
	static const char path[] = "/sys/kernel/mm/transparent_hugepage/enabled";
	if (mw_os_is_confined())
		return MW_OS_HUGE_PAGES_SYSTEM_NEVER;
	/* Not 0 as well where mappings with MADV_HUGEPAGE have them all the same (Linux 6.18). */
	if (mw_system_call(SYS_prctl, PR_GET_THP_DISABLE, 0, 0, 0, 0) > 0)
		return MW_OS_HUGE_PAGES_SYSTEM_NEVER;
	char text[64];
	long bytes = -1, file = mw_system_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (file >= 0) {
		bytes = mw_system_call(SYS_read, file, text, sizeof text);
		mw_system_call(SYS_close, file);
	}
	/* The kernel writes "always madvise never", the one that holds in brackets. */
	const long madvise_at = sizeof "always";
	if (bytes <= madvise_at)
		return MW_OS_HUGE_PAGES_SYSTEM_NEVER;
	return text[0] == '['            ? MW_OS_HUGE_PAGES_SYSTEM_ALWAYS
	       : text[madvise_at] == '[' ? MW_OS_HUGE_PAGES_SYSTEM_MADVISE
					 : MW_OS_HUGE_PAGES_SYSTEM_NEVER;
}

/* Read when a heap has grown: a program that stays small does not pay for it. */
static mw_os_huge_pages_setting_t system_setting(void) {
	/* Relaxed: threads that read the file at a time find the same. */
	unsigned setting = atomic_load_explicit(&huge_pages.setting, memory_order_relaxed);
	if (setting == 0) {
		setting = read_setting();
		atomic_store_explicit(&huge_pages.setting, (uint8_t)setting, memory_order_relaxed);
	}
	return (mw_os_huge_pages_setting_t)setting;
}

#ifdef MW_TESTING
void mw_os_huge_pages_set_fake(mw_os_huge_pages_setting_t setting) {
	atomic_store_explicit(&huge_pages.setting, (uint8_t)setting, memory_order_relaxed);
}
#endif

/* A kernel without huge pages refuses both values. */
static bool advise(void *base, size_t bytes, int advice) {
	return mw_system_call(SYS_madvise, base, bytes, advice) == 0;
}

static bool request(void *base, size_t bytes) {
	bool agreed = advise(base, bytes, MADV_HUGEPAGE);
	if (!agreed)
		atomic_fetch_add_explicit(&huge_pages.refused, 1, memory_order_relaxed);
	return agreed && system_setting() != MW_OS_HUGE_PAGES_SYSTEM_NEVER;
}

bool mw_os_huge_pages_advise(void *base, size_t bytes, mw_os_huge_pages_use_t use) {
	mw_os_huge_pages_t mode = huge_pages.mode;
	bool agreed = false;
	if (bytes < MW_OS_HUGE_PAGE_BYTES)
		return false;
	int saved_errno = errno;
	if (mode == MW_OS_HUGE_PAGES_ALWAYS)
		agreed = request(base, bytes);
	else if (mode == MW_OS_HUGE_PAGES_NEVER || use == MW_OS_HUGE_PAGES_LITTLE)
		advise(base, bytes, MADV_NOHUGEPAGE);
	else if (use == MW_OS_HUGE_PAGES_ALL)
		/* Where they come anyway, the request would let page faults wait for memory to be
		 * compacted. */
		agreed = system_setting() == MW_OS_HUGE_PAGES_SYSTEM_ALWAYS ||
			 (system_setting() == MW_OS_HUGE_PAGES_SYSTEM_MADVISE &&
			  request(base, bytes));
	errno = saved_errno;
	return agreed;
}

void mw_os_huge_pages_avoid(void *base, size_t bytes) {
	if (huge_pages.mode == MW_OS_HUGE_PAGES_ALWAYS ||
	    atomic_fetch_add_explicit(&huge_pages.avoided, 1, memory_order_relaxed) >= AVOIDED_MAX)
		return;
	int saved_errno = errno;
	advise(base, bytes, MADV_NOHUGEPAGE);
	errno = saved_errno;
}

void mw_os_huge_pages_never(void *start, size_t bytes) {
	int saved_errno = errno;
	size_t before = (uintptr_t)start & (mw_os_page_bytes() - 1);
	advise((char *)start - before, bytes + before, MADV_NOHUGEPAGE);
	errno = saved_errno;
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
