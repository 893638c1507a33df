/* SPDX-License-Identifier: MIT
 * meta.h -- memory for the allocator's own structures: taken once, never given back.
 * Layer: heap.  One lock (MW_RANK_META). */
#ifndef MW_HEAP_META_H
#define MW_HEAP_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/lock/lock.h"

void *mw_meta_alloc(size_t bytes);
size_t mw_meta_bytes(void);
/* Returns the mapping of this number, in the order they were made; false: there are not so many. */
bool mw_meta_region(unsigned number, uintptr_t *start, uintptr_t *limit);
mw_lock_t *mw_meta_lock(void);
void mw_meta_fork_prepare(void);
void mw_meta_fork_release(bool in_child);

#endif
