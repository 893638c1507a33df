/* SPDX-License-Identifier: MIT
 * live_filter.h -- the addresses of live samples, with the numbers of their records.
 * Layer: attach. A free first looks at a byte of the filter, then in a table. Look-ups take no
 * lock. Changes wait for others only for a bounded time: an address that could not be added is
 * reported, one that could not be removed stays until a later sample has the address.
 * Async-signal-safe for a thread that is not inside (mw_attach_begin()). */
#ifndef MW_ATTACH_LIVE_FILTER_H
#define MW_ATTACH_LIVE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/thread_records.h"

/* false: no live sample has the address. */
MW_ALWAYS_INLINE bool mw_attach_may_be_live(const void *block) {
	uint32_t hash = (uint32_t)((uintptr_t)block >> 4) * 0x9e3779b1u >> 16;
	/* Relaxed: who frees a block knows of it from the thread that allocated it. */
	return MW_UNLIKELY(
		atomic_load_explicit(&mw_attach_wiped.filter[hash], memory_order_relaxed) != 0);
}

/* Returns the record of the live sample at the address; 0: there is none. */
uint32_t mw_attach_live_find(uintptr_t address);
/* Adds an address. *replaced: the record that had the address before, whose free was not seen; 0:
 * none. False: not added, for want of memory. */
bool mw_attach_live_add(uintptr_t address, uint32_t record, uint32_t *replaced);
/* Removes the address if it has this record. */
bool mw_attach_live_remove(uintptr_t address, uint32_t record);
/* Removes all addresses. No other thread changes the table meanwhile, or the result is false. */
MW_COLD bool mw_attach_live_clear(void);

#endif
