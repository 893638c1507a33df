/* SPDX-License-Identifier: MIT
 * chunk_space.h -- address space of chunks without a block, given back where it is short.
 * Layer: heap.  Slice 0, the metadata, stays mapped for the life of the process, so that an old
 * pointer into such a chunk still leads to valid metadata: free slices.  The address map goes on
 * calling the 4 MiB a chunk until a huge block begins there (doc/adr/0006). */
#ifndef MW_HEAP_CHUNK_SPACE_H
#define MW_HEAP_CHUNK_SPACE_H

#include <stddef.h>

#include "base/compiler.h"
#include "heap/layout/page.h"

/* Unmaps slices 1 to 63 of each chunk that is wholly free.  Returns the bytes. */
MW_COLD size_t mw_chunk_unmap_free(void);
/* Maps such a chunk's slices again, where nothing else has come to lie there; NULL: none.  Under
 * the chunk lock.  The chunk is in no list of free slices yet. */
MW_COLD mw_chunk_t *mw_chunk_remap(void);

#endif
