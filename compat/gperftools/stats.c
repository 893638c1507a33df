/* SPDX-License-Identifier: MIT
 * stats.c -- the heap's figures in tcmalloc's terms, and the text of GetStats in its format. */
#include <stdarg.h>
#include <string.h>

#include "base/fmt.h"
#include "compat/gperftools/gperftools.h"
#include "compat/gperftools/heap_walk.h"
#include "heap/layout/page.h"
#include "heap/layout/size_class.h"

#define RULE "------------------------------------------------\n"

void mw_gp_figures(mw_gp_figures_t *figures) {
	const mw_compat_calls_t *calls = mw_gp_calls();
	uint64_t stats[MW_STAT_COUNT];
	mw_heap_totals_t totals;
	calls->stats(stats);
	calls->totals(&totals);
	uint64_t thread_cache = calls->thread_cache_bytes();
	uint64_t live = totals.live_bytes + stats[MW_STAT_huge_bytes], waiting;
	/* A block that is freed meanwhile may be in one of the two only. */
	waiting = calls->waiting_bytes();
	live -= waiting < live ? waiting : live;
	uint64_t used = stats[MW_STAT_in_use_bytes];
	/* The two sums are read one after the other while other threads allocate, so `live` may
	 * exceed `used`. */
	if (live > used)
		live = used;
	if (thread_cache > live)
		thread_cache = live;
	uint64_t page_heap = stats[MW_STAT_dirty_bytes] + stats[MW_STAT_huge_cached_bytes];
	uint64_t system = stats[MW_STAT_mapped_bytes];
	if (system < used + page_heap)
		system = used + page_heap;
	*figures = (mw_gp_figures_t){
		.in_use = live - thread_cache,
		.page_heap = page_heap,
		.unmapped = system - used - page_heap,
		.central_cache = used - live,
		.thread_cache = thread_cache,
		.metadata = stats[MW_STAT_metadata_bytes],
		.system = system,
		.physical = used + page_heap + stats[MW_STAT_metadata_bytes],
		.spans = mw_gp_page_count() + stats[MW_STAT_huge_blocks],
		.threads = stats[MW_STAT_live_threads],
		.purged = stats[MW_STAT_purged_bytes],
		.takes = stats[MW_STAT_page_takes],
		.chunks = stats[MW_STAT_chunks],
	};
}

typedef struct text {
	char *buffer;
	size_t capacity, length;
} text_t;

static MW_PRINTF(2, 3) void add(text_t *text, const char *format, ...) {
	if (text->length + 1 >= text->capacity)
		return;
	va_list args;
	va_start(args, format);
	text->length +=
		mw_vfmt(text->buffer + text->length, text->capacity - text->length, format, args);
	va_end(args);
}

/* MiB, rounded to one digit behind the point, for "%lu.%lu". */
static unsigned long in_tenths(uint64_t bytes) {
	return (unsigned long)((bytes * 10 + (1 << 19)) >> 20);
}
static unsigned long whole(uint64_t bytes) {
	return in_tenths(bytes) / 10;
}
static unsigned long tenths(uint64_t bytes) {
	return in_tenths(bytes) % 10;
}

static void add_line(text_t *text, const char *sign, uint64_t bytes, const char *what) {
	add(text, "MALLOC: %s %12lu (%5lu.%lu MiB) %s\n", sign, (unsigned long)bytes, whole(bytes),
	    tenths(bytes), what);
}

static void add_number(text_t *text, uint64_t number, const char *what) {
	add(text, "MALLOC:   %12lu              %s\n", (unsigned long)number, what);
}

static void add_overview(text_t *text, const mw_gp_figures_t *f) {
	add(text, RULE);
	add_line(text, " ", f->in_use, "Bytes in use by application");
	add_line(text, "+", f->page_heap, "Bytes in page heap freelist");
	add_line(text, "+", f->central_cache, "Bytes in central cache freelist");
	add_line(text, "+", 0, "Bytes in transfer cache freelist");
	add_line(text, "+", f->thread_cache, "Bytes in thread cache freelists");
	add_line(text, "+", f->metadata, "Bytes in malloc metadata");
	add(text, "MALLOC:   ------------\n");
	add_line(text, "=", f->physical, "Actual memory used (physical + swap)");
	add_line(text, "+", f->unmapped, "Bytes released to OS (aka unmapped)");
	add(text, "MALLOC:   ------------\n");
	add_line(text, "=", f->physical + f->unmapped, "Virtual address space used");
	add(text, "MALLOC:\n");
	add_number(text, f->spans, "Spans in use");
	add_number(text, f->threads, "Thread heaps in use");
	add_number(text, MW_SLICE_BYTES, "Tcmalloc page size");
	add(text, RULE "Call ReleaseFreeMemory() to release freelist memory to the OS"
		       " (via madvise()).\n"
		       "Bytes released to the OS take up virtual address space but no physical"
		       " memory.\n");
}

static void add_classes(text_t *text) {
	mw_heap_totals_t totals;
	mw_gp_calls()->totals(&totals);
	uint64_t sum = 0;
	add(text, RULE "Total size of freelists for per-thread caches,\n"
		       "transfer cache, and central cache, by size class\n" RULE);
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		uint64_t count = totals.free_blocks[c], bytes = count * mw_gp_class_bytes(c);
		sum += bytes;
		if (count > 0)
			add(text,
			    "class %3u [ %8lu bytes ] : %8lu objs; %3lu.%lu MiB; %3lu.%lu cum "
			    "MiB; "
			    "   0.000 overhead MiB;    0.000 cum overhead MiB\n",
			    c + 1, (unsigned long)mw_gp_class_bytes(c), (unsigned long)count,
			    whole(bytes), tenths(bytes), whole(sum), tenths(sum));
	}
}

static void add_spans(text_t *text) {
	mw_gp_runs_t runs;
	mw_gp_runs(&runs);
	uint64_t sum = 0, unmapped_sum = 0;
	add(text, RULE "PageHeap: %u sizes; %4lu.%lu MiB free; %4lu.%lu MiB unmapped\n" RULE,
	    runs.sizes, whole(runs.free_bytes), tenths(runs.free_bytes), whole(runs.unmapped_bytes),
	    tenths(runs.unmapped_bytes));
	for (unsigned pages = 1; pages < MW_GP_RUNS; pages++) {
		const mw_gp_run_t *run = &runs.by_length[pages];
		uint64_t bytes = (run->free + run->unmapped) * pages * MW_SLICE_BYTES;
		uint64_t unmapped = run->unmapped * pages * MW_SLICE_BYTES;
		if (bytes == 0)
			continue;
		sum += bytes;
		unmapped_sum += unmapped;
		add(text,
		    "%6u pages * %6lu spans ~ %4lu.%lu MiB; %4lu.%lu MiB cum; unmapped: %4lu.%lu "
		    "MiB; %4lu.%lu MiB cum\n",
		    pages, (unsigned long)(run->free + run->unmapped), whole(bytes), tenths(bytes),
		    whole(sum), tenths(sum), whole(unmapped), tenths(unmapped), whole(unmapped_sum),
		    tenths(unmapped_sum));
	}
}

void mw_gp_stats_text(char *buffer, size_t capacity, bool detailed) {
	if (capacity == 0)
		return;
	text_t text = {.buffer = buffer, .capacity = capacity};
	*buffer = '\0';
	mw_gp_figures_t figures;
	mw_gp_figures(&figures);
	add_overview(&text, &figures);
	if (!detailed)
		return;
	add_classes(&text);
	add_spans(&text);
}
