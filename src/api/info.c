/* SPDX-License-Identifier: MIT
 * info.c -- what libc's functions tell of the heap, and mallopt(): with glibc's names, elements and
 * results.  doc/memory.md says what each figure counts here.  malloc_info() writes through the
 * caller's stream, so it may allocate: no lock is held meanwhile. */
#include <errno.h>
#include <limits.h>

#include "api/libc.h"
#include "api/start.h"
#include "base/check.h"
#include "base/fmt.h"
#include "heap/chunk.h"
#include "heap/decay.h"
#include "heap/huge.h"
#include "heap/stats.h"

/* The largest M_MXFAST that glibc takes. */
#define MXFAST_MAX 160
/* Room for the lines of malloc_info(): one a class, some thirty others. */
#define INFO_BYTES 8192

typedef struct survey {
	uint64_t stats[MW_STAT_COUNT];
	mw_chunk_census_t census;
	mw_huge_stats_t huge;
	size_t chunk_bytes, free_count, free_bytes;
} survey_t;

static void look(survey_t *survey) {
	mw_api_stats(survey->stats);
	mw_chunk_census(&survey->census);
	mw_huge_stats(&survey->huge);
	survey->chunk_bytes = survey->stats[MW_STAT_chunks] * MW_CHUNK_BYTES;
	survey->free_count = 0;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		survey->free_count += survey->census.free_blocks[c];
	size_t live_bytes = survey->census.live_bytes;
	survey->free_bytes =
		survey->chunk_bytes > live_bytes ? survey->chunk_bytes - live_bytes : 0;
}

struct mallinfo2 mallinfo2(void) {
	survey_t survey;
	look(&survey);
	return (struct mallinfo2){
		.arena = survey.chunk_bytes,
		.ordblks = survey.free_count,
		.hblks = survey.huge.blocks,
		.hblkhd = survey.huge.live_bytes,
		.uordblks = survey.census.live_bytes,
		.fordblks = survey.free_bytes,
		.keepcost = survey.stats[MW_STAT_dirty_bytes],
	};
}

struct mallinfo mallinfo(void) {
	struct mallinfo2 wide = mallinfo2();
	/* The old interface wraps at 2 GiB, as glibc's does. */
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

static const struct {
	const char *name, *help;
} stat_rows[MW_STAT_COUNT] = {
#define MW_STAT(name, unit, help) {#name, help},
#include "state/stats.def"
#undef MW_STAT
};

void malloc_stats(void) {
	survey_t survey;
	look(&survey);
	size_t live_bytes = survey.census.live_bytes, huge_bytes = survey.huge.live_bytes;
	/* What scripts look for in glibc's. */
	mw_print_line("Total (incl. mmap):\n"
		      "system bytes     = %10zu\n"
		      "in use bytes     = %10zu\n"
		      "max mmap regions = %10zu\n"
		      "max mmap bytes   = %10zu",
		      survey.chunk_bytes + huge_bytes, live_bytes + huge_bytes,
		      survey.huge.most_blocks, survey.huge.most_bytes);
	mw_print_line("mallow %s:", MALLOW_VERSION);
	for (unsigned i = 0; i < MW_STAT_COUNT; i++)
		mw_print_line("%20lu %s: %s", survey.stats[i], stat_rows[i].name,
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

static void add_totals(text_t *text, const survey_t *survey, bool with_mappings) {
	add(text, "<total type=\"fast\" count=\"0\" size=\"0\"/>\n");
	add(text, "<total type=\"rest\" count=\"%zu\" size=\"%zu\"/>\n", survey->free_count,
	    survey->free_bytes);
	if (with_mappings)
		add(text, "<total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n",
		    survey->huge.blocks, survey->huge.live_bytes);
	/* Chunks stay mapped: what is there now is the most there ever was. */
	static const char *const rows[] = {"<system type=\"current\"", "<system type=\"max\"",
					   "<aspace type=\"total\"", "<aspace type=\"mprotect\""};
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
		add(text, "%s size=\"%zu\"/>\n", rows[i], survey->chunk_bytes);
}

int malloc_info(int options, FILE *file) {
	if (options != 0)
		return EINVAL;
	survey_t survey;
	look(&survey);
	text_t text = {.length = 0};
	add(&text, "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n");
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		size_t count = survey.census.free_blocks[c], bytes = mw_class_bytes[c];
		if (count > 0)
			add(&text,
			    "  <size from=\"%zu\" to=\"%zu\" total=\"%zu\" count=\"%zu\"/>\n",
			    c == 0 ? 1 : (size_t)mw_class_bytes[c - 1] + 1, bytes, count * bytes,
			    count);
	}
	add(&text, "</sizes>\n");
	add_totals(&text, &survey, false);
	add(&text, "</heap>\n");
	add_totals(&text, &survey, true);
	add(&text, "</malloc>\n");
	fputs(text.bytes, file);
	return 0;
}

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
		/* As glibc: what is not known, or has no meaning here, is accepted. */
		return 1;
	}
}
