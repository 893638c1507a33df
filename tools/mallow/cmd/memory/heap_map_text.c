/* SPDX-License-Identifier: MIT
 * heap_map_text.c -- the map of a heap in a terminal. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/print.h"
#include "cmd/memory/heap_map.h"
#include "report/text/units.h"

#define SIZES_SHOWN 12u
#define SIGNS 9u

static const char *const blocks[SIGNS] = {"\u2581", "\u2581", "\u2582", "\u2583", "\u2584",
					  "\u2585", "\u2586", "\u2587", "\u2588"};
static const char *const digits[SIGNS] = {"0", "1", "2", "3", "4", "5", "6", "7", "8"};

static const char *sign_of(const mw_state_slice_t *slice, bool is_unicode) {
	switch (slice->kind) {
	case MW_SLICE_FREE:
		return ".";
	case MW_SLICE_DIRTY:
		return "+";
	case MW_SLICE_MUZZY:
		return "~";
	case MW_SLICE_SAMPLED:
		return "s";
	case MW_SLICE_LARGE:
		return "L";
	case MW_SLICE_MORE:
		return "l";
	case MW_SLICE_SMALL:
		break;
	default:
		return " ";
	}
	uint64_t eighths = mw_slice_used_bytes(slice) * (SIGNS - 1) / MW_STATE_SLICE_BYTES;
	size_t sign = eighths < SIGNS ? (size_t)eighths : SIGNS - 1;
	return is_unicode ? blocks[sign] : digits[sign];
}

static const char *bytes_text(uint64_t bytes, char text[MW_SHOW_BYTES]) {
	return mw_format_bytes((int64_t)bytes, text, MW_SHOW_BYTES);
}

static void print_sizes(const mw_heap_map_t *map) {
	char used[MW_SHOW_BYTES], free_text[MW_SHOW_BYTES], holes[MW_SHOW_BYTES],
		block[MW_SHOW_BYTES];
	printf("\n%12s%8s%12s%12s%12s%8s\n", "blocks of", "pages", "in use", "free", "holes",
	       "sparse");
	for (size_t i = 0; i < map->size_count && i < SIZES_SHOWN; i++) {
		const mw_map_size_t *size = &map->sizes[i];
		printf("%12s%8" PRIu64 "%12s%12s%12s%8" PRIu64 "\n",
		       bytes_text(size->block_bytes, block), size->pages,
		       bytes_text(size->used_bytes, used), bytes_text(size->free_bytes, free_text),
		       bytes_text(size->hole_bytes, holes), size->sparse_pages);
	}
	if (map->size_count > SIZES_SHOWN)
		printf("%12s\n", "...");
	printf("%12s%8s%12s%12s%12s\n", "all", "", bytes_text(map->used_bytes, used),
	       bytes_text(map->free_bytes, free_text), bytes_text(map->hole_bytes, holes));
}

void mw_heap_map_print(const mw_heap_map_t *map, bool is_unicode) {
	char kept[MW_SHOW_BYTES], large[MW_SHOW_BYTES];
	for (size_t i = 0; i < map->chunk_count; i++) {
		const mw_state_chunk_t *chunk = map->chunks[i].slices;
		printf("%14" PRIx64 "  ", chunk->start);
		for (size_t k = 0; k < MW_STATE_SLICES; k++)
			fputs(sign_of(&chunk->slices[k], is_unicode), stdout);
		putchar('\n');
	}
	printf("\n  A line is a chunk of 4 MiB, a sign a slice of 64 KiB.  %s: a page of small\n"
	       "  blocks, by its bytes in use; L and l: a large block or a run; s: sampled "
	       "blocks;\n"
	       "  +: free, kept for reuse; ~: the same, the kernel may take it; .: given back.\n",
	       is_unicode ? "\u2581 to \u2588" : "0 to 8");
	print_sizes(map);
	printf("\n  large blocks %s; free slices that are resident %s\n",
	       bytes_text(map->large_bytes, large),
	       bytes_text(map->kind_bytes[MW_SLICE_DIRTY] + map->kind_bytes[MW_SLICE_MUZZY], kept));
}
