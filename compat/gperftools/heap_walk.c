/* SPDX-License-Identifier: MIT
 * heap_walk.c -- walks the heap for MallocExtension's Ranges, MallocMemoryStats and free lists. */
#include "compat/gperftools/heap_walk.h"

#include <gperftools/malloc_extension_c.h>
#include <string.h>

#include "compat/gperftools/gperftools.h"
#include "heap/layout/page.h"
#include "heap/layout/size_class.h"
#include "state/layout.h"

/* Ranges kept during a walk, whose callback may not allocate. */
#define RANGES_MAX 1024

typedef struct ranges {
	unsigned count;
	struct {
		uintptr_t start, limit;
		unsigned kind;
	} at[RANGES_MAX];
} ranges_t;

typedef struct found {
	uint64_t pages;
	mw_gp_runs_t *runs;
	ranges_t *ranges;
	int *histogram;
	uint64_t class_bytes[MW_CLASS_COUNT + 1];
	uint64_t blocks, bytes;
	unsigned classes;
} found_t;

/* Thread-local, because the walk's callbacks have no context. */
static MW_TLS found_t *found;

static void see_range(uintptr_t start, uintptr_t limit, unsigned kind) {
	ranges_t *ranges = found->ranges;
	if (!ranges || ranges->count == RANGES_MAX)
		return;
	ranges->at[ranges->count].start = start;
	ranges->at[ranges->count].limit = limit;
	ranges->at[ranges->count++].kind = kind;
}

static unsigned bit_length(uint64_t bytes) {
	return bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;
}

static void see_class(const mw_heap_walk_class_t *class) {
	found->pages += class->pages;
	if (found->classes <= MW_CLASS_COUNT)
		found->class_bytes[found->classes++] = class->block_bytes;
	/* The number of large blocks is not in the walk. */
	if (class->block_bytes == 0)
		return;
	found->blocks += class->live_blocks;
	found->bytes += class->live_blocks * class->block_bytes;
	unsigned slot = bit_length(class->block_bytes);
	if (found->histogram && slot < kMallocExtensionHistogramSize)
		found->histogram[slot] += (int)class->live_blocks;
}

static void see_free(unsigned count, mw_free_slices_t kind) {
	mw_gp_runs_t *runs = found->runs;
	if (!runs || count >= MW_GP_RUNS)
		return;
	mw_gp_run_t *run = &runs->by_length[count];
	runs->sizes += run->free + run->unmapped == 0;
	if (kind == MW_FREE_CLEAN) {
		run->unmapped++;
		runs->unmapped_bytes += count * (uint64_t)MW_SLICE_BYTES;
	} else {
		run->free++;
		runs->free_bytes += count * (uint64_t)MW_SLICE_BYTES;
	}
}

static void walk(found_t *result) {
	static const mw_heap_walk_sink_t sink = {
		.range = see_range, .size_class = see_class, .free_slices = see_free};
	found = result;
	mw_gp_calls()->walk(&sink);
	found = NULL;
}

uint64_t mw_gp_page_count(void) {
	found_t result = {0};
	walk(&result);
	return result.pages;
}

void mw_gp_runs(mw_gp_runs_t *runs) {
	memset(runs, 0, sizeof *runs);
	found_t result = {.runs = runs};
	walk(&result);
}

/* The classes are those of the library, which does not export their table. */
uint64_t mw_gp_class_bytes(unsigned size_class) {
	static _Atomic uint64_t bytes[MW_CLASS_COUNT];
	if (bytes[0] == 0) {
		found_t result = {0};
		walk(&result);
		for (unsigned c = MW_CLASS_COUNT; c-- > 0;)
			bytes[c] = result.class_bytes[c];
	}
	return size_class < MW_CLASS_COUNT ? bytes[size_class] : 0;
}

int MallocExtension_MallocMemoryStats(int *blocks, size_t *total,
				      int histogram[kMallocExtensionHistogramSize]) {
	memset(histogram, 0, kMallocExtensionHistogramSize * sizeof *histogram);
	found_t result = {.histogram = histogram};
	walk(&result);
	uint64_t stats[MW_STAT_COUNT];
	mw_gp_calls()->stats(stats);
	*blocks = (int)(result.blocks + stats[MW_STAT_huge_blocks]);
	*total = (size_t)(result.bytes + stats[MW_STAT_huge_bytes]);
	return 1;
}

static MallocExtension_RangeType type_of(unsigned kind) {
	return kind == MW_RANGE_METADATA ? MallocExtension_kRangeUnknown
					 : MallocExtension_kRangeInUse;
}

void MallocExtension_Ranges(void *context, MallocExtension_RangeFunction function) {
	ranges_t ranges;
	ranges.count = 0;
	found_t result = {.ranges = &ranges};
	walk(&result);
	mw_gp_figures_t figures;
	mw_gp_figures(&figures);
	double share = figures.system ? (double)figures.in_use / (double)figures.system : 0;
	for (unsigned i = 0; i < ranges.count; i++) {
		unsigned kind = ranges.at[i].kind;
		if (kind != MW_RANGE_CHUNKS && kind != MW_RANGE_HUGE && kind != MW_RANGE_METADATA)
			continue;
		MallocExtension_Range range = {
			.address = ranges.at[i].start,
			.length = ranges.at[i].limit - ranges.at[i].start,
			.type = type_of(kind),
			.fraction = kind == MW_RANGE_CHUNKS ? share : 1,
		};
		function(context, &range);
	}
}

size_t MallocExtension_GetFreeListSizes(MallocExtension_FreeListInfo *lists, size_t capacity) {
	mw_heap_totals_t totals;
	mw_gp_calls()->totals(&totals);
	size_t count = 0;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		uint64_t bytes = mw_gp_class_bytes(c);
		if (count < capacity)
			lists[count] = (MallocExtension_FreeListInfo){
				.min_object_size = c ? mw_gp_class_bytes(c - 1) + 1 : 1,
				.max_object_size = bytes,
				.total_bytes_free = totals.free_blocks[c] * bytes,
				.type = "tcmalloc.central",
			};
		count++;
	}
	mw_gp_runs_t runs;
	mw_gp_runs(&runs);
	const uint64_t sums[] = {runs.free_bytes, runs.unmapped_bytes};
	static const char *const types[] = {"tcmalloc.page", "tcmalloc.page_unmapped"};
	for (unsigned i = 0; i < 2; i++, count++)
		if (count < capacity)
			lists[count] = (MallocExtension_FreeListInfo){
				.min_object_size = MW_SLICE_BYTES,
				.max_object_size = SIZE_MAX,
				.total_bytes_free = sums[i],
				.type = types[i],
			};
	return count;
}
