/* SPDX-License-Identifier: MIT
 * chunk_map.h -- lists the contents of a chunk by slice, for `mallow map`.
 * Layer: heap. */
#ifndef MW_HEAP_CHUNK_MAP_H
#define MW_HEAP_CHUNK_MAP_H

#include <stdint.h>

#include "base/compiler.h"
#include "heap/layout/page.h"
#include "state/layout.h"

/* Calls `tell` with the chunk's map.  Stops no thread: each number was true at some time meanwhile.
 * `slab_blocks`: live blocks of sampled-slot pages by slice, which the caller has just counted. */
MW_COLD void mw_chunk_map(const mw_chunk_t *chunk, const uint32_t slab_blocks[MW_CHUNK_SLICES],
			  void (*tell)(const mw_state_chunk_t *map));

#endif
