/* SPDX-License-Identifier: MIT
 * heap_map.h -- the map of a heap: its chunks, their pages, and sums by the size of blocks.
 * Layer: cmd/memory. */
#ifndef MW_TOOL_CMD_MEMORY_HEAP_MAP_H
#define MW_TOOL_CMD_MEMORY_HEAP_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "formats/state/state_file.h"

/* Sums over the pages of one size of blocks. */
typedef struct mw_map_size {
	uint32_t block_bytes;
	uint64_t pages, sparse_pages; /* sparse: less than a quarter of the page is in use */
	uint64_t used_bytes;
	uint64_t free_bytes; /* resident, because blocks of the page are in use */
	uint64_t hole_bytes; /* between blocks in use, given back to the kernel */
} mw_map_size_t;

typedef struct mw_map_chunk {
	const mw_state_chunk_t *slices;
	uint64_t free_bytes; /* resident bytes without a block */
} mw_map_chunk_t;

typedef struct mw_heap_map {
	mw_map_chunk_t *chunks; /* those that hold something, ordered by address */
	size_t chunk_count;
	uint64_t chunks_in_all, free_chunks; /* free: wholly given back to the kernel */
	mw_map_size_t *sizes;                /* ordered by free bytes, the most first */
	size_t size_count;
	uint64_t kind_bytes[MW_SLICE_KINDS];         /* bytes of the slices of each kind */
	uint64_t used_bytes, free_bytes, hole_bytes; /* of all sizes */
	uint64_t large_bytes;
} mw_heap_map_t;

/* Sums up the snapshot's chunks, whose slices the map refers to.  Keeps the `most` chunks with most
 * free bytes; 0: all. */
void mw_heap_map_make(mw_heap_map_t *map, const mw_snapshot_t *snapshot, size_t most);
void mw_heap_map_free(mw_heap_map_t *map);

/* Returns the bytes of a page of blocks that are in use, and those that are free and resident. */
uint64_t mw_slice_used_bytes(const mw_state_slice_t *slice);
uint64_t mw_slice_free_bytes(const mw_state_slice_t *slice);

/* Prints a line of signs for each chunk, and the sums; with block characters if `is_unicode`. */
void mw_heap_map_print(const mw_heap_map_t *map, bool is_unicode);

#endif
