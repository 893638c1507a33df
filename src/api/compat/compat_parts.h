/* SPDX-License-Identifier: MIT
 * compat_parts.h -- functions that fill the parts of the table of compat_calls.h.
 * Layer: api. Several threads may call at once: they store equal values. */
#ifndef MW_API_COMPAT_PARTS_H
#define MW_API_COMPAT_PARTS_H

#include "api/compat/compat_calls.h"

/* `volatile` has each address loaded by an instruction that the linker relaxes: addresses in pairs
 * would come from a table that is relocated. */
MW_COLD void mw_compat_fill_blocks(volatile mw_compat_blocks_t *blocks);
MW_COLD void mw_compat_fill_arenas(volatile mw_compat_arenas_t *arenas);

#endif
