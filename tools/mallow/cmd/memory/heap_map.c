/* SPDX-License-Identifier: MIT
 * heap_map.c -- sums up the slices of a heap. */
#include "cmd/memory/heap_map.h"

#include <stdlib.h>

#include "model/memory.h"

#define SPARSE_DIVISOR 4u
/* Sizes are at most 64 KiB, in units of 16 bytes. */
#define SIZES_MAX (MW_STATE_SLICE_BYTES / MW_STATE_BLOCK_UNIT_BYTES + 1)

static uint32_t block_bytes(const mw_state_slice_t *slice) {
	return slice->block_units * MW_STATE_BLOCK_UNIT_BYTES;
}

uint64_t mw_slice_used_bytes(const mw_state_slice_t *slice) {
	return (uint64_t)slice->used_blocks * block_bytes(slice);
}

uint64_t mw_slice_free_bytes(const mw_state_slice_t *slice) {
	if (slice->kind == MW_SLICE_DIRTY || slice->kind == MW_SLICE_MUZZY)
		return MW_STATE_SLICE_BYTES;
	if (slice->kind != MW_SLICE_SMALL || slice->touched_blocks <= slice->used_blocks)
		return 0;
	return (uint64_t)(slice->touched_blocks - slice->used_blocks) * block_bytes(slice);
}

static void add_slice(mw_heap_map_t *map, mw_map_size_t *by_units, const mw_state_slice_t *slice) {
	if (slice->kind >= MW_SLICE_KINDS)
		return;
	map->kind_bytes[slice->kind] += MW_STATE_SLICE_BYTES;
	if (slice->kind == MW_SLICE_LARGE)
		map->large_bytes += (uint64_t)slice->touched_blocks * MW_STATE_PAGE_BYTES;
	if (slice->kind != MW_SLICE_SMALL || slice->block_units >= SIZES_MAX)
		return;
	mw_map_size_t *size = &by_units[slice->block_units];
	uint64_t used = mw_slice_used_bytes(slice), holes = slice->hole_pages * MW_STATE_PAGE_BYTES;
	size->block_bytes = block_bytes(slice);
	size->pages++;
	size->sparse_pages += used < MW_STATE_SLICE_BYTES / SPARSE_DIVISOR;
	size->used_bytes += used;
	size->free_bytes += mw_slice_free_bytes(slice);
	size->hole_bytes += holes;
	map->used_bytes += used;
	map->free_bytes += mw_slice_free_bytes(slice);
	map->hole_bytes += holes;
}

static int compare_starts(const void *left, const void *right) {
	const mw_map_chunk_t *a = left, *b = right;
	return (a->slices->start > b->slices->start) - (a->slices->start < b->slices->start);
}

static int compare_free(const void *left, const void *right) {
	const mw_map_chunk_t *a = left, *b = right;
	return (a->free_bytes < b->free_bytes) - (a->free_bytes > b->free_bytes);
}

static int compare_sizes(const void *left, const void *right) {
	const mw_map_size_t *a = left, *b = right;
	if (a->free_bytes != b->free_bytes)
		return a->free_bytes < b->free_bytes ? 1 : -1;
	return (a->block_bytes > b->block_bytes) - (a->block_bytes < b->block_bytes);
}

static bool is_given_back(const mw_state_chunk_t *chunk) {
	for (size_t i = 0; i < MW_STATE_SLICES; i++)
		if (chunk->slices[i].kind != MW_SLICE_FREE &&
		    chunk->slices[i].kind != MW_SLICE_UNMAPPED)
			return false;
	return true;
}

void mw_heap_map_make(mw_heap_map_t *map, const mw_snapshot_t *snapshot, size_t most) {
	mw_map_size_t *by_units = mw_xcalloc(SIZES_MAX, sizeof(*by_units));
	*map = (mw_heap_map_t){.chunks_in_all = snapshot->live.chunks_used, .sizes = by_units};
	map->chunks = mw_xcalloc(snapshot->chunk_count, sizeof(*map->chunks));
	for (size_t i = 0; i < snapshot->chunk_count; i++) {
		if (is_given_back(&snapshot->chunks[i])) {
			map->free_chunks++;
			continue;
		}
		mw_map_chunk_t *chunk = &map->chunks[map->chunk_count++];
		chunk->slices = &snapshot->chunks[i];
		for (size_t k = 0; k < MW_STATE_SLICES; k++) {
			add_slice(map, by_units, &chunk->slices->slices[k]);
			chunk->free_bytes += mw_slice_free_bytes(&chunk->slices->slices[k]);
		}
	}
	if (most > 0 && most < map->chunk_count) {
		qsort(map->chunks, map->chunk_count, sizeof(*map->chunks), compare_free);
		map->chunk_count = most;
	}
	qsort(map->chunks, map->chunk_count, sizeof(*map->chunks), compare_starts);
	for (size_t i = 0; i < SIZES_MAX; i++)
		if (by_units[i].pages > 0)
			by_units[map->size_count++] = by_units[i];
	qsort(map->sizes, map->size_count, sizeof(*map->sizes), compare_sizes);
}

void mw_heap_map_free(mw_heap_map_t *map) {
	free(map->chunks);
	free(map->sizes);
}
