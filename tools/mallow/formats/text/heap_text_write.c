/* SPDX-License-Identifier: MIT
 * heap_text_write.c -- writes the two text formats: jemalloc's heap_v2 and gperftools' "heap
 * profile:". */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/lines.h"
#include "formats/text/text_formats.h"
#include "model/memory.h"
#include "state/script_frames.h"

/* Mean bytes between samples in the header of heap_v2. mallow's numbers are estimates already,
 * and readers scale every stack by 1/(1 - exp(-(bytes / objects) / mean)).  With a mean of 1
 * byte, the factor is 1 for any object of several bytes.  Totals are then right for mixed sizes,
 * too. */
#define HEAP_V2_MEAN_BYTES 1

typedef struct counts {
	int64_t inuse_objects, inuse_bytes, alloc_objects, alloc_bytes;
} counts_t;

static void add_value(int64_t *sum, const int64_t *values, int type) {
	int64_t value = type >= 0 && values[type] > 0 ? values[type] : 0;
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = INT64_MAX;
}

static void add_counts(const mw_profile_t *p, size_t sample, const mw_heap_types_t *types,
		       counts_t *counts) {
	const int64_t *values = mw_profile_values(p, sample);
	add_value(&counts->inuse_objects, values, types->inuse_objects);
	add_value(&counts->inuse_bytes, values, types->inuse_space);
	add_value(&counts->alloc_objects, values, types->alloc_objects);
	add_value(&counts->alloc_bytes, values, types->alloc_space);
}

/* Adds up sample `first` and the following samples of equal stack.  Returns the next sample. */
static size_t next_stack(const mw_profile_t *p, size_t first, const mw_heap_types_t *types,
			 counts_t *counts) {
	*counts = (counts_t){0};
	size_t i = first;
	do
		add_counts(p, i++, types, counts);
	while (i < p->sample_count && mw_profile_same_stack(p, first, i));
	return i;
}

static bool is_empty(const counts_t *counts) {
	return counts->inuse_objects == 0 && counts->inuse_bytes == 0 &&
	       counts->alloc_objects == 0 && counts->alloc_bytes == 0;
}

/* Writes the addresses of a stack.  Readers subtract 1 from every address; some leave the leaf
 * alone.  The leaf is therefore written as the address to look up; 1 less still lies in the
 * call. */
static void write_stack(const mw_profile_t *p, size_t sample, mw_output_t *output) {
	const mw_sample_t *s = &p->samples[sample];
	for (uint32_t i = 0; i < s->depth; i++) {
		uint64_t address = mw_text_address(p, p->frames[s->frame_first + i]);
		mw_output_printf(output, " 0x%" PRIx64, i == 0 ? address : address + 1);
	}
	/* jeprof takes an empty stack for a repetition of the stack before. */
	if (s->depth == 0)
		mw_output_printf(output, " 0x0");
}

void mw_write_maps(const mw_profile_t *p, mw_output_t *output) {
	for (size_t i = 1; i < p->mapping_count; i++) {
		const mw_mapping_t *m = &p->mappings[i];
		mw_output_printf(output, "%08" PRIx64 "-%08" PRIx64 " r-xp %08" PRIx64 " 00:00 0 ",
				 m->start + m->displacement, m->limit + m->displacement, m->offset);
		/* Escapes newlines as the kernel does, so that a path stays on one line. */
		for (const char *c = mw_profile_string(p, m->path); *c != '\0'; c++)
			if (*c == '\n')
				mw_output_write(output, "\\012", 4);
			else
				mw_output_write(output, c, 1);
		mw_output_write(output, "\n", 1);
	}
}

static void write_script_text(const mw_profile_t *p, mw_string_t text, mw_output_t *output) {
	for (const char *c = mw_profile_string(p, text); *c != '\0'; c++)
		mw_output_write(output, *c > 0 && *c < ' ' ? "?" : c, 1);
}

static void write_function(const mw_profile_t *p, const mw_numbered_function_t *entry,
			   mw_output_t *output) {
	const mw_function_t *function = &p->functions[entry->function];
	mw_output_printf(output, "0 %" PRIu64 " %" PRId64 " ", entry->number, function->start_line);
	write_script_text(p, function->name, output);
	mw_output_write(output, "\t", 1);
	write_script_text(p, function->file, output);
	mw_output_write(output, "\n", 1);
}

/* Writes the functions of all scripts' frames. A number that two processes have for two functions
 * is left out. */
static void write_functions(const mw_profile_t *p, mw_output_t *output) {
	mw_numbered_function_t *all = mw_xcalloc(p->location_count, sizeof(*all));
	size_t count = 0;
	for (uint32_t i = 1; i < p->location_count; i++) {
		const mw_line_t *line = mw_location_line(p, &p->locations[i], 0);
		uint64_t place = p->locations[i].address;
		if (line == NULL || !mw_script_is_module(place) || !mw_profile_is_script(p, i))
			continue;
		place &= ((uint64_t)1 << MW_SCRIPT_MODULE_SHIFT) - 1;
		all[count++] =
			(mw_numbered_function_t){place >> MW_SCRIPT_LINE_BITS, line->function};
	}
	qsort(all, count, sizeof(*all), mw_compare_numbered);
	if (count > 0)
		mw_output_printf(output, MW_SCRIPT_FUNCTIONS_TITLE);
	for (size_t i = 0, next; i < count; i = next) {
		bool is_one = true;
		for (next = i + 1; next < count && all[next].number == all[i].number; next++)
			is_one &= all[next].function == all[i].function;
		if (is_one)
			write_function(p, &all[i], output);
	}
	free(all);
}

static void write_libraries(const mw_profile_t *p, mw_output_t *output) {
	mw_output_printf(output, "\nMAPPED_LIBRARIES:\n");
	mw_write_maps(p, output);
	write_functions(p, output);
}

/* Undoes the readers' scaling.  This matters for objects of one byte, which other profilers that
 * count requested bytes have. */
static void unscale(int64_t *objects, int64_t *bytes) {
	if (*objects == 0)
		return;
	if (*bytes == 0) /* jeprof divides by the bytes */
		*bytes = 1;
	double mean = (double)*bytes / (double)*objects;
	double share = -expm1(-mean / HEAP_V2_MEAN_BYTES);
	if (share >= 1.0 - 0x1p-53)
		return;
	*objects = llround((double)*objects * share);
	*bytes = llround((double)*bytes * share);
	if (*objects == 0)
		*objects = 1;
	if (*bytes == 0)
		*bytes = 1;
}

static void write_heap_v2_counts(const counts_t *counts, mw_output_t *output) {
	counts_t c = *counts;
	unscale(&c.inuse_objects, &c.inuse_bytes);
	unscale(&c.alloc_objects, &c.alloc_bytes);
	mw_output_printf(output, "  t*: %" PRId64 ": %" PRId64 " [%" PRId64 ": %" PRId64 "]\n",
			 c.inuse_objects, c.inuse_bytes, c.alloc_objects, c.alloc_bytes);
}

void mw_write_heap_v2(const mw_profile_t *p, const mw_heap_types_t *types, mw_output_t *output) {
	counts_t total = {0}, counts;
	for (size_t i = 0; i < p->sample_count; i++)
		add_counts(p, i, types, &total);
	mw_output_printf(output, "heap_v2/%d\n", HEAP_V2_MEAN_BYTES);
	write_heap_v2_counts(&total, output);
	for (size_t i = 0, next; i < p->sample_count; i = next) {
		next = next_stack(p, i, types, &counts);
		if (is_empty(&counts))
			continue;
		mw_output_write(output, "@", 1);
		write_stack(p, i, output);
		mw_output_write(output, "\n", 1);
		write_heap_v2_counts(&counts, output);
	}
	write_libraries(p, output);
}

static void write_gperftools_counts(const counts_t *c, mw_output_t *output) {
	mw_output_printf(output, "%6" PRId64 ": %8" PRId64 " [%6" PRId64 ": %8" PRId64 "] @",
			 c->inuse_objects, c->inuse_bytes, c->alloc_objects, c->alloc_bytes);
}

static void write_bracketed(const mw_profile_t *p, const mw_heap_types_t *types, const char *kind,
			    mw_output_t *output) {
	counts_t total = {0}, counts;
	for (size_t i = 0; i < p->sample_count; i++)
		add_counts(p, i, types, &total);
	mw_output_printf(output, "heap profile: ");
	write_gperftools_counts(&total, output);
	mw_output_printf(output, " %s\n", kind);
	for (size_t i = 0, next; i < p->sample_count; i = next) {
		next = next_stack(p, i, types, &counts);
		if (is_empty(&counts))
			continue;
		write_gperftools_counts(&counts, output);
		write_stack(p, i, output);
		mw_output_write(output, "\n", 1);
	}
	write_libraries(p, output);
}

void mw_write_gperftools(const mw_profile_t *p, const mw_heap_types_t *types, mw_output_t *output) {
	write_bracketed(p, types, "heapprofile", output);
}

void mw_write_growth(const mw_profile_t *p, const mw_heap_types_t *types, mw_output_t *output) {
	const mw_heap_types_t growth = {.inuse_objects = types->inuse_objects,
					.inuse_space = types->inuse_space,
					.alloc_objects = types->inuse_objects,
					.alloc_space = types->inuse_space};
	write_bracketed(p, &growth, "growth", output);
}
