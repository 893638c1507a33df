/* SPDX-License-Identifier: MIT
 * heap_chunks.h -- the heap's chunks in the state file, as the last heap walk found them.
 * Layer: state. Part of layout.h. */
#ifndef MW_STATE_HEAP_CHUNKS_H
#define MW_STATE_HEAP_CHUNKS_H

#include <stdint.h>

/* Contents of a slice of 64 KiB. */
typedef enum mw_slice_kind {
	MW_SLICE_FREE,    /* free, and its memory was given back or never touched */
	MW_SLICE_DIRTY,   /* free, and its memory is resident */
	MW_SLICE_MUZZY,   /* free, and the kernel takes its memory when it needs some */
	MW_SLICE_SMALL,   /* blocks of one size */
	MW_SLICE_SAMPLED, /* sampled blocks */
	MW_SLICE_LARGE,   /* the first slice of a large block */
	MW_SLICE_MORE,    /* another slice of the block or run before it */
	MW_SLICE_UNMAPPED,
	MW_SLICE_KINDS,
} mw_slice_kind_t;

typedef struct mw_state_slice {
	uint8_t kind;            /* mw_slice_kind_t */
	uint8_t hole_pages;      /* kernel pages between its blocks that were given back */
	uint16_t block_units;    /* SMALL: bytes of a block, in units of 16 */
	uint16_t used_blocks;    /* SMALL, SAMPLED */
	uint16_t touched_blocks; /* SMALL: ever used, and not in a hole; LARGE: kernel pages */
} mw_state_slice_t;

/* A chunk of 4 MiB.  Its first slice is metadata; slices[i] is slice i + 1. */
#define MW_STATE_SLICES 63u
#define MW_STATE_SLICE_BYTES 65536u
#define MW_STATE_BLOCK_UNIT_BYTES 16u
typedef struct mw_state_chunk {
	uint64_t start;
	mw_state_slice_t slices[MW_STATE_SLICES];
} mw_state_chunk_t;

_Static_assert(sizeof(mw_state_chunk_t) == 512, "file format");

#endif
