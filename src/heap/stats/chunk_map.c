/* SPDX-License-Identifier: MIT
 * chunk_map.c -- reads the masks and pages of a chunk.  Relaxed reads of other threads' pages: each
 * field is one word, and a page may become another one between two of them. */
#include "heap/stats/chunk_map.h"

#include "heap/layout/remote_word.h"
#include "os/memory/map.h"

_Static_assert(MW_STATE_SLICES == MW_CHUNK_SLICES - 1 && MW_STATE_SLICE_BYTES == MW_SLICE_BYTES,
	       "file format");

static uint16_t capped16(uint64_t value) {
	return (uint16_t)(value < UINT16_MAX ? value : UINT16_MAX);
}

static void map_small(const mw_page_t *page, mw_state_slice_t *slice) {
	slice->kind = MW_SLICE_SMALL;
	slice->block_units = capped16(page->block_bytes / MW_STATE_BLOCK_UNIT_BYTES);
	slice->used_blocks = capped16(mw_remote_used(page));
	slice->touched_blocks = capped16(__atomic_load_n(&page->carved, __ATOMIC_RELAXED));
	slice->hole_pages = (uint8_t)__builtin_popcount(page->holes);
}

static void map_page(const mw_page_t *page, uint32_t slab_blocks, mw_state_slice_t *slice) {
	switch (__atomic_load_n(&page->kind, __ATOMIC_RELAXED)) {
	case MW_PAGE_SMALL:
		map_small(page, slice);
		break;
	case MW_PAGE_SAMPLED:
		slice->kind = MW_SLICE_SAMPLED;
		slice->used_blocks = capped16(slab_blocks);
		break;
	case MW_PAGE_LARGE:
		slice->kind = MW_SLICE_LARGE;
		slice->touched_blocks =
			capped16((page->large_bytes + MW_OS_PAGE_BYTES - 1) / MW_OS_PAGE_BYTES);
		break;
	case MW_PAGE_NONE: /* reserved by a heap */
		slice->kind = MW_SLICE_FREE;
		break;
	default:
		slice->kind = MW_SLICE_MORE;
	}
}

void mw_chunk_map(const mw_chunk_t *chunk, const uint32_t slab_blocks[MW_CHUNK_SLICES],
		  void (*tell)(const mw_state_chunk_t *map)) {
	mw_state_chunk_t map = {.start = (uintptr_t)chunk};
	uint64_t free = __atomic_load_n(&chunk->free_mask, __ATOMIC_RELAXED);
	uint64_t dirty = __atomic_load_n(&chunk->dirty_mask, __ATOMIC_RELAXED);
	uint64_t muzzy = __atomic_load_n(&chunk->muzzy_mask, __ATOMIC_RELAXED);
	bool is_unmapped = __atomic_load_n(&chunk->is_unmapped, __ATOMIC_RELAXED);
	for (unsigned i = 1; i < MW_CHUNK_SLICES; i++) {
		mw_state_slice_t *slice = &map.slices[i - 1];
		if (is_unmapped)
			slice->kind = MW_SLICE_UNMAPPED;
		else if (free >> i & 1)
			slice->kind = dirty >> i & 1   ? MW_SLICE_DIRTY
				      : muzzy >> i & 1 ? MW_SLICE_MUZZY
						       : MW_SLICE_FREE;
		else
			map_page(mw_chunk_page(chunk, i), slab_blocks[i], slice);
	}
	tell(&map);
}
