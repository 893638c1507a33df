/* SPDX-License-Identifier: MIT
 * map.c -- maps, purges and unmaps memory. */
#include "os/memory/map.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "base/check.h"
#include "os/memory/raw_map.h"
#include "os/platform/kernel_calls.h"
#include "os/platform/system_call.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102 /* Linux 6.13 */
#define MADV_GUARD_REMOVE 103
#endif

size_t mw_os_page_bytes(void) {
	/* Relaxed: all threads store the same value. 0: not asked for yet. */
	static _Atomic size_t known;
	size_t bytes = atomic_load_explicit(&known, memory_order_relaxed);
	if (MW_LIKELY(bytes != 0))
		return bytes;
	/* A library that replaces getauxval(3) may allocate there. What is rounded to the largest
	 * pages is right for all. */
	atomic_store_explicit(&known, MW_OS_PAGE_MAX_BYTES, memory_order_relaxed);
	bytes = mw_os_raw_page_bytes();
	if (bytes < MW_OS_PAGE_BYTES)
		bytes = MW_OS_PAGE_BYTES;
	atomic_store_explicit(&known, bytes, memory_order_relaxed);
	return bytes;
}

size_t mw_os_whole_pages(size_t bytes) {
	return (bytes + mw_os_page_bytes() - 1) & ~(mw_os_page_bytes() - 1);
}

/* Returns whether the range consists of whole pages of the kernel. */
static bool is_whole(const void *base, size_t bytes) {
	return (((uintptr_t)base | bytes) & (mw_os_page_bytes() - 1)) == 0;
}

void *mw_os_map(size_t bytes) {
	int saved_errno = errno;
	if (mw_os_fault(MW_OS_MAP))
		return NULL;
	/* Without MAP_NORESERVE, the kernel refuses a request beyond the machine's memory here,
	 * where the program can handle it, as with other allocators. */
	void *base = mw_os_raw_mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = saved_errno;
	return base == MAP_FAILED ? NULL : base;
}

void *mw_os_map_aligned(size_t bytes, size_t align) {
	MW_ASSERT(mw_is_pow2(align) && align >= MW_OS_PAGE_BYTES);
	bytes = mw_os_whole_pages(bytes); /* 0 near SIZE_MAX, which the kernel refuses */
	/* The kernel often places a mapping directly below the last one, so that the plain request
	 * may be aligned. */
	char *base = mw_os_map(bytes);
	if (!base || ((uintptr_t)base & (align - 1)) == 0)
		return base;
	mw_os_unmap(base, bytes);
	size_t padded = bytes + align - MW_OS_PAGE_BYTES;
	if (padded < bytes)
		return NULL;
	base = mw_os_map(padded);
	if (!base)
		return NULL;
	char *aligned = (char *)mw_round_up((uintptr_t)base, align);
	size_t before = (size_t)(aligned - base), after = padded - before - bytes;
	if (before)
		mw_os_unmap(base, before);
	if (after)
		mw_os_unmap(aligned + bytes, after);
	return aligned;
}

bool mw_os_map_over(void *base, size_t bytes) {
	int saved_errno = errno;
	void *mapped = mw_os_raw_mmap(base, bytes, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	errno = saved_errno;
	return mapped == base;
}

void *mw_os_map_at(void *base, size_t bytes) {
	int saved_errno = errno;
	if (mw_os_fault(MW_OS_MAP))
		return NULL;
	void *mapped = mw_os_raw_mmap(base, bytes, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	/* Kernels before 4.17 treat the address as a hint only. */
	if (mapped != MAP_FAILED && mapped != base) {
		mw_os_unmap(mapped, bytes);
		mapped = MAP_FAILED;
	}
	errno = saved_errno;
	return mapped == MAP_FAILED ? NULL : mapped;
}

bool mw_os_unmap(void *base, size_t bytes) {
	int saved_errno = errno;
	/* If the kernel refuses (the split would exceed the number of mappings), the address space
	 * is lost, but the pages are returned. */
	bool done = !mw_os_fault(MW_OS_UNMAP) && mw_os_raw_munmap(base, bytes) == 0;
	if (!done)
		mw_os_purge(base, bytes);
	errno = saved_errno;
	return done;
}

/* Returns false if the range does not consist of whole pages of the kernel, or the kernel refuses.
 */
static MW_NOINLINE bool change(long call, mw_os_call_t kind, void *base, size_t bytes, int how) {
	int saved_errno = errno;
	bool done = is_whole(base, bytes) && !mw_os_fault(kind) &&
		    mw_system_call(call, base, bytes, how) == 0;
	errno = saved_errno;
	return done;
}

bool mw_os_purge(void *base, size_t bytes) {
	return change(SYS_madvise, MW_OS_PURGE, base, bytes, MADV_DONTNEED);
}

void mw_os_prefault(void *base, size_t bytes) {
	/* Relaxed: a hint. */
	static _Atomic bool refused;
	if (!is_whole(base, bytes) || mw_os_fault(MW_OS_PREFAULT) ||
	    atomic_load_explicit(&refused, memory_order_relaxed))
		return;
	int saved_errno = errno;
	if (mw_system_call(SYS_madvise, base, bytes, MADV_POPULATE_WRITE) != 0 && errno == EINVAL)
		atomic_store_explicit(&refused, true, memory_order_relaxed);
	errno = saved_errno;
}

bool mw_os_purge_lazily(void *base, size_t bytes) {
	return change(SYS_madvise, MW_OS_PURGE, base, bytes, MADV_FREE);
}

void *mw_os_remap(void *base, size_t old_bytes, size_t new_bytes, bool may_move) {
	int saved_errno = errno;
	if (mw_os_fault(MW_OS_REMAP))
		return NULL;
	void *moved =
		mw_os_raw_mremap(base, old_bytes, new_bytes, may_move ? MREMAP_MAYMOVE : 0, NULL);
	errno = saved_errno;
	return moved == MAP_FAILED ? NULL : moved;
}

static bool advise_guard(void *base, size_t bytes, int advice) {
	int saved_errno = errno;
	long status;
	if (!is_whole(base, bytes) || mw_os_fault(MW_OS_PROTECT))
		return false;
	do
		status = mw_system_call(SYS_madvise, base, bytes, advice);
	while (status != 0 && errno == EINTR);
	errno = saved_errno;
	return status == 0;
}

bool mw_os_guard(void *base, size_t bytes) {
	return advise_guard(base, bytes, MADV_GUARD_INSTALL);
}

bool mw_os_unguard(void *base, size_t bytes) {
	return advise_guard(base, bytes, MADV_GUARD_REMOVE);
}

bool mw_os_protect_none(void *base, size_t bytes) {
	return change(SYS_mprotect, MW_OS_PROTECT, base, bytes, PROT_NONE);
}

bool mw_os_unprotect(void *base, size_t bytes) {
	return change(SYS_mprotect, MW_OS_PROTECT, base, bytes, PROT_READ | PROT_WRITE);
}

void mw_os_no_dump(void *base, size_t bytes) {
	int saved_errno = errno;
	mw_system_call(SYS_madvise, base, bytes, MADV_DONTDUMP);
	errno = saved_errno;
}

void mw_os_no_fork(void *base, size_t bytes) {
	int saved_errno = errno;
	mw_system_call(SYS_madvise, base, bytes, MADV_DONTFORK);
	errno = saved_errno;
}
