/* SPDX-License-Identifier: MIT
 * page.c -- the address map, the counters of rare events, and the owner word that sends frees to
 * the slow path. */
#include "heap/layout/page.h"

#include "heap/layout/counters.h"

MW_SPARSE uint8_t mw_address_map[(size_t)1 << (MW_ADDRESS_BITS - MW_CHUNK_SHIFT)];
mw_counters_t mw_counters;

MW_NOINLINE void mw_page_divert(mw_page_t *page) {
	atomic_store_explicit(&mw_page_entry(page)->owner, MW_OWNER_DIVERT, memory_order_relaxed);
}
