/* SPDX-License-Identifier: MIT
 * reuse.h -- free entries of tables whose entries can be given back.
 * Layer: prof/table. A collection (collect.h) finds the entries of a section that
 * nothing refers to; mw_reuse_take() hands them out again, those with small numbers first, before
 * the section grows. Between two collections the list of free entries only shrinks, so taking is
 * lock-free without a counter against reuse. */
#ifndef MW_PROF_TABLE_REUSE_H
#define MW_PROF_TABLE_REUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "prof/store/store.h"

/* Returns the number of a free entry, or else of a new one as mw_store_take() does. All bytes of a
 * free entry are 0 in both copies. */
uint64_t mw_reuse_take(mw_state_section_id_t section);
/* Returns the number of free entries. */
uint64_t mw_reuse_left(mw_state_section_id_t section);
/* Maps the list of a section's free entries. Returns false if the kernel refused. Called with the
 * tables quiesced. */
bool mw_reuse_prepare(mw_state_section_id_t section);
/* Makes the entries in 1 .. `used` - 1 whose bit in `kept` is 0 the free ones. The list must be
 * prepared. Called with the tables quiesced. */
void mw_reuse_set(mw_state_section_id_t section, const uint64_t *kept, uint64_t used);
/* Passes the address range of each list to `see`. */
void mw_reuse_visit(void (*see)(uintptr_t start, uintptr_t limit));

#endif
