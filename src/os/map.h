/* SPDX-License-Identifier: MIT
 * map.h -- address space from the kernel: map, purge, unmap.
 * Layer: os.  No locks, never allocates, errno kept.  Sizes are bytes, multiples of
 * MW_OS_PAGE_BYTES. */
#ifndef MW_OS_MAP_H
#define MW_OS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"

/* The unit the library rounds to.  Kernels with larger pages are refused at start-up. */
#define MW_OS_PAGE_BYTES 4096u

/* Zeroed private memory, readable and writable; NULL when refused.
 * `align` is a power of two, at least MW_OS_PAGE_BYTES. */
void *mw_os_map_aligned(size_t bytes, size_t align);
void *mw_os_map(size_t bytes);
/* At this address; NULL when something is there already, or refused. */
void *mw_os_map_at(void *base, size_t bytes);
void mw_os_unmap(void *base, size_t bytes);
/* Gives the pages back; they read as zero afterwards (MADV_DONTNEED).  False when refused: the
 * contents are then unchanged. */
bool mw_os_purge(void *base, size_t bytes);
/* Fresh memory that will be written to soon comes at once, at two thirds of what a fault for each
 * kernel page costs.  Where the kernel has no such call, or no memory, nothing happens. */
MW_COLD void mw_os_prefault(void *base, size_t bytes);
/* The kernel takes the pages when it needs memory (MADV_FREE): until then they hold what they held,
 * afterwards they read as zero.  A store keeps them.  False when refused. */
MW_COLD bool mw_os_purge_lazily(void *base, size_t bytes);
/* Resizes a mapping, in place or by moving it; NULL when refused (the old one is unchanged). */
void *mw_os_remap(void *base, size_t old_bytes, size_t new_bytes, bool may_move);
/* No permission at all: for guard pages. */
bool mw_os_protect_none(void *base, size_t bytes);
/* Left out of core dumps. */
void mw_os_no_dump(void *base, size_t bytes);

#endif
