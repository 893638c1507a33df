/* SPDX-License-Identifier: MIT
 * info.c -- mallinfo(3), malloc_stats(3), malloc_info(3) and mallopt(3), with glibc's names,
 * elements and results. doc/user/memory.md says what each figure counts. malloc_info() writes to
 * the caller's stream, which may allocate, so no lock is held then. */
#include <errno.h>
#include <limits.h>

#include "api/libc.h"
#include "api/process/start.h"
#include "base/check.h"
#include "base/fmt.h"
#include "heap/large/huge.h"
#include "heap/memory/chunk.h"
#include "heap/memory/decay.h"
#include "heap/stats/heap_walk.h"
#include "heap/stats/stats.h"

/* Largest M_MXFAST that glibc accepts. */
#define MXFAST_MAX 160
/* Buffer for malloc_info(): one line per size class and about thirty others. */
#define INFO_BYTES 8192

typedef struct overview {
	uint64_t stats[MW_STAT_COUNT];
	mw_heap_totals_t totals;
	mw_huge_stats_t huge;
	size_t chunk_bytes, free_count, free_bytes;
} overview_t;

static void look(overview_t *overview) {
	mw_api_stats(overview->stats);
	mw_heap_totals(&overview->totals);
	mw_huge_stats(&overview->huge);
	overview->chunk_bytes = overview->stats[MW_STAT_chunks] * MW_CHUNK_BYTES;
	overview->free_count = 0;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		overview->free_count += overview->totals.free_blocks[c];
	size_t live_bytes = overview->totals.live_bytes;
	overview->free_bytes =
		overview->chunk_bytes > live_bytes ? overview->chunk_bytes - live_bytes : 0;
}

#ifdef M_MXFAST
#if !__GLIBC_PREREQ(2, 33)
struct mallinfo2 {
	size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks,
		keepcost;
};
struct mallinfo2 mallinfo2(void);
#endif

struct mallinfo2 mallinfo2(void) {
	overview_t overview;
	look(&overview);
	return (struct mallinfo2){
		.arena = overview.chunk_bytes,
		.ordblks = overview.free_count,
		.hblks = overview.huge.blocks,
		.hblkhd = overview.huge.live_bytes,
		.uordblks = overview.totals.live_bytes,
		.fordblks = overview.free_bytes,
		.keepcost = overview.stats[MW_STAT_dirty_bytes],
	};
}

struct mallinfo mallinfo(void) {
	struct mallinfo2 wide = mallinfo2();
	/* The fields of the old interface wrap at 2 GiB, as in glibc. */
	return (struct mallinfo){
		.arena = (int)wide.arena,
		.ordblks = (int)wide.ordblks,
		.hblks = (int)wide.hblks,
		.hblkhd = (int)wide.hblkhd,
		.uordblks = (int)wide.uordblks,
		.fordblks = (int)wide.fordblks,
		.keepcost = (int)wide.keepcost,
	};
}
#endif

static const struct {
	const char *name, *help;
} stat_rows[MW_STAT_COUNT] = {
#define MW_STAT(name, unit, help) {#name, help},
#include "state/stats.def"
#undef MW_STAT
};

void malloc_stats(void) {
	overview_t overview;
	look(&overview);
	size_t live_bytes = overview.totals.live_bytes, huge_bytes = overview.huge.live_bytes;
	/* Scripts search for these words of glibc's output. */
	mw_print_line("Total (incl. mmap):\n"
		      "system bytes     = %10zu\n"
		      "in use bytes     = %10zu\n"
		      "max mmap regions = %10zu\n"
		      "max mmap bytes   = %10zu",
		      overview.chunk_bytes + huge_bytes, live_bytes + huge_bytes,
		      overview.huge.most_blocks, overview.huge.most_bytes);
	mw_print_line("mallow %s:", MALLOW_VERSION);
	for (unsigned i = 0; i < MW_STAT_COUNT; i++)
		mw_print_line("%20lu %s: %s", overview.stats[i], stat_rows[i].name,
			      stat_rows[i].help);
}

typedef struct text {
	char bytes[INFO_BYTES];
	size_t length;
} text_t;

static MW_PRINTF(2, 3) void add(text_t *text, const char *format, ...) {
	va_list args;
	va_start(args, format);
	text->length +=
		mw_vfmt(text->bytes + text->length, INFO_BYTES - text->length, format, args);
	va_end(args);
	if (text->length >= INFO_BYTES)
		text->length = INFO_BYTES - 1;
}

static void add_totals(text_t *text, const overview_t *overview, bool with_mappings) {
	add(text, "<total type=\"fast\" count=\"0\" size=\"0\"/>\n");
	add(text, "<total type=\"rest\" count=\"%zu\" size=\"%zu\"/>\n", overview->free_count,
	    overview->free_bytes);
	if (with_mappings)
		add(text, "<total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n",
		    overview->huge.blocks, overview->huge.live_bytes);
	/* Chunks stay mapped, so the current size is also the largest. */
	static const char *const rows[] = {"<system type=\"current\"", "<system type=\"max\"",
					   "<aspace type=\"total\"", "<aspace type=\"mprotect\""};
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
		add(text, "%s size=\"%zu\"/>\n", rows[i], overview->chunk_bytes);
}

int malloc_info(int options, FILE *file) {
	if (options != 0)
		return EINVAL;
	overview_t overview;
	look(&overview);
	text_t text = {.length = 0};
	add(&text, "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n");
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		size_t count = overview.totals.free_blocks[c], bytes = mw_class_bytes[c];
		if (count > 0)
			add(&text,
			    "  <size from=\"%zu\" to=\"%zu\" total=\"%zu\" count=\"%zu\"/>\n",
			    c == 0 ? 1 : (size_t)mw_class_bytes[c - 1] + 1, bytes, count * bytes,
			    count);
	}
	add(&text, "</sizes>\n");
	add_totals(&text, &overview, false);
	add(&text, "</heap>\n");
	add_totals(&text, &overview, true);
	add(&text, "</malloc>\n");
	fputs(text.bytes, file);
	return 0;
}

#ifdef M_MXFAST
static void set_trim_threshold(int value) {
	if (value < 0) { /* never */
		mw_chunk_set_decay(MW_DECAY_NEVER_NS, false);
		mw_huge_set_decay(MW_DECAY_NEVER_NS, false);
		return;
	}
	size_t bytes = value > 0 ? (size_t)value : 1;
	mw_chunk_set_keep_min_bytes(bytes);
	mw_huge_set_keep_min_bytes(bytes);
}

int mallopt(int parameter, int value) {
	switch (parameter) {
	case M_TRIM_THRESHOLD:
		set_trim_threshold(value);
		return 1;
	case M_MXFAST:
		return value >= 0 && value <= MXFAST_MAX;
	default:
		/* Unknown and meaningless parameters are accepted, as in glibc. */
		return 1;
	}
}
#endif
