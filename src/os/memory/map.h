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

/* Page size that the library uses. Kernels with larger pages are not supported, and nothing checks
 * for them. */
#define MW_OS_PAGE_BYTES 4096u

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
