/* SPDX-License-Identifier: MIT
 * map.h -- maps, purges and unmaps memory.
 * Layer: os/memory, the door of this folder. The folder maps memory and says where its pages lie;
 * it may use src/base and os/platform. Reading order: raw_map, map,
 * huge_pages, numa.
 *
 * No locks, never allocates, errno kept.  Sizes are bytes, multiples of
 * MW_OS_PAGE_BYTES. */
#ifndef MW_OS_MAP_H
#define MW_OS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* The heap's unit of sizes. No kernel has smaller pages. */
#define MW_OS_PAGE_BYTES 4096u
/* The largest pages of a kernel that the library runs on: those of a slice of the heap. */
#define MW_OS_PAGE_MAX_BYTES 65536u

/* Returns the size of the kernel's pages: 4, 16 or 64 KiB; api/process/start.c says what happens
 * where they are larger. Mappings begin at their multiples, and what mw_os_map() gives ends there,
 * too, whatever size was asked for. Functions that change a part of a mapping refuse one that does
 * not consist of whole pages of the kernel: it would round up and change what is behind.
 * Async-signal-safe. The testing library takes the size from the environment variable
 * MALLOW_TEST_PAGE_BYTES, and behaves as on a kernel with such pages. */
__attribute__((const)) size_t mw_os_page_bytes(void);
/* Returns the size of the pages that the kernel counts, and that exist besides the library's
 * mappings. Differs from mw_os_page_bytes() in tests that force larger pages. */
#ifdef MW_TESTING
__attribute__((const)) size_t mw_os_counted_page_bytes(void);
#else
static inline size_t mw_os_counted_page_bytes(void) {
	return mw_os_page_bytes();
}
#endif
/* Rounds up to whole pages of the kernel. */
__attribute__((const)) size_t mw_os_whole_pages(size_t bytes);

/* Maps private memory, zeroed, readable and writable. `align` is a power of two, at least
 * MW_OS_PAGE_BYTES. Returns NULL if refused. */
void *mw_os_map_aligned(size_t bytes, size_t align);
void *mw_os_map(size_t bytes);
/* Maps memory at this address. Returns NULL if a mapping exists there, or if refused. */
void *mw_os_map_at(void *base, size_t bytes);
/* Puts private memory, zeroed, readable and writable, in the place of what is mapped there.
 * Async-signal-safe. Returns false if refused. */
MW_COLD bool mw_os_map_over(void *base, size_t bytes);
/* Unmaps. Returns false if the kernel refused; the pages are then returned, but not the
 * addresses. */
bool mw_os_unmap(void *base, size_t bytes);
/* Returns the pages to the kernel (MADV_DONTNEED); they then read as zero. Returns false if
 * refused; the contents are then unchanged. */
bool mw_os_purge(void *base, size_t bytes);
/* Allocates pages of fresh memory that will soon be written: takes two thirds of the time of page
 * faults. Has no effect if the kernel lacks the call or the memory. */
MW_COLD void mw_os_prefault(void *base, size_t bytes);
/* Lets the kernel take the pages when it needs memory (MADV_FREE). Until then they keep their
 * contents, afterwards they read as zero. A store keeps a page. Returns false if refused. */
MW_COLD bool mw_os_purge_lazily(void *base, size_t bytes);
/* Resizes a mapping, in place or by moving it. Returns NULL if refused; the old mapping is then
 * unchanged. */
void *mw_os_remap(void *base, size_t old_bytes, size_t new_bytes, bool may_move);
/* Removes all permissions, for guard pages. */
bool mw_os_protect_none(void *base, size_t bytes);
/* Makes pages of private memory guard pages without a mapping of their own, and returns their
 * memory (MADV_GUARD_INSTALL, Linux 6.13). Returns false if refused; the pages are then unchanged.
 */
bool mw_os_guard(void *base, size_t bytes);
/* Makes such pages ordinary ones, which read as zero. */
bool mw_os_unguard(void *base, size_t bytes);
/* Restores reading and writing. */
bool mw_os_unprotect(void *base, size_t bytes);
/* Excludes the memory from core dumps. */
void mw_os_no_dump(void *base, size_t bytes);
/* Excludes the memory from forked children, which have no mapping there. */
void mw_os_no_fork(void *base, size_t bytes);

#endif
