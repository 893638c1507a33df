/* SPDX-License-Identifier: MIT
 * memory_cost.c -- joins a profile of CPU time with one of allocations, by the callers' names.
 *
 * A sample belongs to the allocator if one of its frames lies in it. The function that the program
 * called is the outermost of these frames; its caller, wrappers such as xmalloc() left out, gets
 * the time. A sample in the kernel's handler of page faults belongs to the function whose access to
 * memory caused the fault, or for which the allocator accessed it. */
#include "view/table/memory_cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "model/table.h"
#include "model/text.h"
#include "report/text/names.h"
#include "report/text/units.h"
#include "view/common/json.h"
#include "view/select/wrappers.h"

#define NAME_BYTES 512
#define NAME_COLUMNS 100
#define TEXT_BYTES 64

typedef struct row {
	char *name;
	int64_t alloc_ns, free_ns, fault_ns;
	int64_t bytes, objects;     /* allocated in the time */
	int64_t lifetime_ns, freed; /* sum over the objects that were freed, their number */
} row_t;

typedef struct cost {
	row_t *rows; /* rows[0] is unused */
	size_t count, capacity;
	mw_table_t by_name;
	int64_t cpu_ns, alloc_ns, free_ns, fault_ns; /* sums over all samples */
} cost_t;

static bool name_equal(const void *context, uint32_t entry, const void *key) {
	return strcmp(((const row_t *)context)[entry].name, key) == 0;
}

static row_t *find_row(cost_t *c, const char *name) {
	uint64_t hash = mw_table_hash(name, strlen(name));
	uint32_t found = mw_table_find(&c->by_name, hash, name_equal, c->rows, name);
	if (found != 0)
		return &c->rows[found];
	if (c->count == 0)
		c->count = 1;
	c->rows = mw_grow(c->rows, &c->capacity, c->count + 1, sizeof(row_t));
	c->rows[c->count] = (row_t){.name = mw_xstrdup(name)};
	mw_table_add(&c->by_name, hash, (uint32_t)c->count);
	return &c->rows[c->count++];
}

/* ---- frames ---- */

static const char *function_of(const mw_profile_t *p, uint32_t location, uint32_t line) {
	const mw_location_t *l = &p->locations[location];
	if (line >= l->line_count)
		return NULL;
	return mw_profile_string(p, p->functions[p->lines[l->line_first + line].function].name);
}

static const char *file_of(const mw_profile_t *p, uint32_t location) {
	const char *path = mw_profile_string(p, p->mappings[p->locations[location].mapping].path);
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

/* True for frames of libmallow: by the file, or, in a program that is linked with the archive, by
 * the name. */
static bool is_allocator(const mw_profile_t *p, uint32_t location) {
	const mw_location_t *l = &p->locations[location];
	const char *path = mw_profile_string(p, p->mappings[l->mapping].path);
	if (strncmp(file_of(p, location), "libmallow", 9) == 0 ||
	    strstr(path, "/mallow/compat/lib") != NULL)
		return true;
	const char *name = function_of(p, location, l->line_count - 1);
	return name != NULL && strncmp(name, "mw_", 3) == 0;
}

/* Returns the number of frames up to the outermost one of the allocator; 0: there is none. */
static uint32_t allocator_frames(const mw_profile_t *p, const uint32_t *frames, uint32_t depth) {
	for (uint32_t i = depth; i > 0; i--)
		if (is_allocator(p, frames[i - 1]))
			return i;
	return 0;
}

/* Functions of the kernel that handle page faults, the second and third also those that madvise(2)
 * with MADV_POPULATE_WRITE asks it to handle ahead. */
static bool handles_fault(const char *name) {
	return strstr(name, "page_fault") != NULL || strstr(name, "handle_mm_fault") != NULL ||
	       strstr(name, "faultin_page") != NULL;
}

/* Returns the number of the kernel's frames; *is_fault: they handle a page fault. */
static uint32_t kernel_frames(const mw_profile_t *p, const uint32_t *frames, uint32_t depth,
			      bool *is_fault) {
	uint32_t i = 0;
	*is_fault = false;
	for (; i < depth && strcmp(file_of(p, frames[i]), MW_KERNEL_MAPPING) == 0; i++) {
		const char *name = function_of(p, frames[i], 0);
		*is_fault |= name != NULL && handles_fault(name);
	}
	return i;
}

/* Functions of libc such as memset() access memory for their callers. The outermost frame is never
 * skipped. */
static uint32_t libc_frames(const mw_profile_t *p, const uint32_t *frames, uint32_t depth) {
	uint32_t i = 0;
	while (i + 1 < depth && strncmp(file_of(p, frames[i]), "libc.so", 7) == 0)
		i++;
	return i;
}

static bool names_free(const char *name) {
	return name != NULL &&
	       (strstr(name, "free") != NULL || strstr(name, "delete") != NULL ||
		strstr(name, "deallocate") != NULL || strstr(name, "munmap") != NULL ||
		strstr(name, "dallocx") != NULL || strncmp(name, "_Zd", 3) == 0);
}

static bool frees(const mw_profile_t *p, uint32_t location) {
	return names_free(function_of(p, location, p->locations[location].line_count - 1));
}

/* Functions such as zfree() and an allocator's deallocate() free for their callers. The outermost
 * function is never skipped. */
static mw_frame_position_t skip_frees(const mw_profile_t *p, mw_frame_position_t at,
				      const uint32_t *frames, uint32_t depth) {
	while (names_free(function_of(p, frames[at.frame], at.line))) {
		bool is_last = at.line + 1 >= p->locations[frames[at.frame]].line_count;
		if (is_last && at.frame + 1 >= depth)
			break;
		at = is_last ? (mw_frame_position_t){.frame = at.frame + 1}
			     : (mw_frame_position_t){.frame = at.frame, .line = at.line + 1};
	}
	return at;
}

/* Returns the row of the function behind the wrappers. */
static row_t *caller_row(cost_t *c, mw_profile_t *p, mw_wrappers_t *wrappers,
			 const uint32_t *frames, uint32_t depth) {
	char name[NAME_BYTES];
	if (depth == 0)
		return find_row(c, "[unknown]");
	mw_frame_position_t at =
		skip_frees(p, mw_wrappers_skip(wrappers, frames, depth), frames, depth);
	const char *function = function_of(p, frames[at.frame], at.line);
	if (function != NULL)
		return find_row(c, function);
	snprintf(name, sizeof(name), "[%s]", file_of(p, frames[at.frame]));
	return find_row(c, name);
}

/* ---- the three profiles ---- */

static void learn(mw_wrappers_t *wrappers, const mw_profile_t *p, bool is_cpu) {
	for (size_t i = 0; i < p->sample_count; i++) {
		const uint32_t *frames = &p->frames[p->samples[i].frame_first];
		uint32_t depth = p->samples[i].depth;
		uint32_t own = is_cpu ? allocator_frames(p, frames, depth) : 0;
		if (own > 0 || !is_cpu)
			mw_wrappers_learn(wrappers, frames + own, depth - own);
	}
}

static int64_t value_of(const mw_profile_t *p, size_t sample, int type) {
	int64_t value = type >= 0 ? mw_profile_values(p, sample)[type] : 0;
	return value > 0 ? value : 0;
}

static void add_sample(cost_t *c, mw_profile_t *p, mw_wrappers_t *wrappers, size_t sample,
		       int64_t ns) {
	const uint32_t *frames = &p->frames[p->samples[sample].frame_first];
	uint32_t depth = p->samples[sample].depth, own = allocator_frames(p, frames, depth);
	bool is_fault;
	uint32_t inner = kernel_frames(p, frames, depth, &is_fault);
	if (own == 0 && !is_fault)
		return;
	if (own > inner)
		inner = own;
	else
		inner += libc_frames(p, frames + inner, depth - inner);
	row_t *row = caller_row(c, p, wrappers, frames + inner, depth - inner);
	if (is_fault) {
		row->fault_ns += ns;
		c->fault_ns += ns;
		return;
	}
	bool is_free = frees(p, frames[own - 1]);
	*(is_free ? &row->free_ns : &row->alloc_ns) += ns;
	*(is_free ? &c->free_ns : &c->alloc_ns) += ns;
}

static void add_cpu(cost_t *c, mw_profile_t *p) {
	int type = mw_profile_find_type(p, "cpu");
	mw_wrappers_t *wrappers = mw_wrappers_new(p, MW_WRAPPERS_ALL);
	learn(wrappers, p, true);
	for (size_t i = 0; i < p->sample_count; i++) {
		int64_t ns = value_of(p, i, type);
		c->cpu_ns += ns;
		add_sample(c, p, wrappers, i, ns);
	}
	mw_wrappers_free(wrappers);
}

static void add_heap(cost_t *c, mw_profile_t *p, bool by_lifetime) {
	int first = mw_profile_find_type(p, by_lifetime ? "lifetime" : "alloc_space");
	int second = mw_profile_find_type(p, by_lifetime ? "freed_objects" : "alloc_objects");
	mw_wrappers_t *wrappers = mw_wrappers_new(p, MW_WRAPPERS_ALL);
	learn(wrappers, p, false);
	for (size_t i = 0; i < p->sample_count; i++) {
		int64_t sum = value_of(p, i, first), objects = value_of(p, i, second);
		if (sum == 0 && objects == 0)
			continue;
		row_t *row = caller_row(c, p, wrappers, &p->frames[p->samples[i].frame_first],
					p->samples[i].depth);
		*(by_lifetime ? &row->lifetime_ns : &row->bytes) += sum;
		*(by_lifetime ? &row->freed : &row->objects) += objects;
	}
	mw_wrappers_free(wrappers);
}

/* ---- output ---- */

static int64_t time_of(const row_t *row) {
	return row->alloc_ns + row->free_ns + row->fault_ns;
}

static int compare(const void *a, const void *b) {
	const row_t *x = a, *y = b;
	int64_t x_ns = time_of(x), y_ns = time_of(y);
	if (x_ns != y_ns)
		return x_ns < y_ns ? 1 : -1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return strcmp(x->name, y->name);
}

static double percent(int64_t part, int64_t whole) {
	return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static int64_t per_second(int64_t sum, double seconds) {
	return seconds > 0 ? llround((double)sum / seconds) : 0;
}

static const char *show_time(int64_t ns, char text[TEXT_BYTES]) {
	return ns > 0 ? mw_format_nanoseconds(ns, text, TEXT_BYTES) : "-";
}

static void print_row(FILE *out, const mw_memory_cost_t *cost, const cost_t *c, const row_t *row) {
	char alloc[TEXT_BYTES], freed[TEXT_BYTES], bytes[TEXT_BYTES], objects[TEXT_BYTES];
	char fault[TEXT_BYTES];
	char life[TEXT_BYTES] = "-", name[NAME_BYTES];
	if (row->freed > 0)
		mw_format_nanoseconds(row->lifetime_ns / row->freed, life, sizeof(life));
	mw_fit_name(row->name, NAME_COLUMNS, name, sizeof(name));
	mw_format_bytes(per_second(row->bytes, cost->seconds), bytes, sizeof(bytes));
	mw_format_count(per_second(row->objects, cost->seconds), objects, sizeof(objects));
	fprintf(out, "%6.1f%% %9s %9s ", percent(time_of(row), c->cpu_ns),
		show_time(row->alloc_ns, alloc), show_time(row->free_ns, freed));
	if (cost->has_faults)
		fprintf(out, "%11s ", show_time(row->fault_ns, fault));
	fprintf(out, "%10s/s %7s/s %9s  ", bytes, objects, life);
	mw_text_print(out, name); /* a program's file may hold any bytes as names */
	fputc('\n', out);
}

static void print_text(FILE *out, const mw_memory_cost_t *cost, const cost_t *c, size_t rows) {
	char all[TEXT_BYTES], memory[TEXT_BYTES];
	int64_t sum_ns = c->alloc_ns + c->free_ns + c->fault_ns;
	fprintf(out, "%s: %s of %s CPU time, %.1f%%\n",
		cost->has_faults ? "malloc, free and page faults" : "malloc and free",
		mw_format_nanoseconds(sum_ns, memory, sizeof(memory)),
		mw_format_nanoseconds(c->cpu_ns, all, sizeof(all)), percent(sum_ns, c->cpu_ns));
	fprintf(out, "%7s %9s %9s ", "of CPU", "malloc", "free");
	if (cost->has_faults)
		fprintf(out, "%11s ", "page faults");
	fprintf(out, "%12s %9s %9s  %s\n", "allocated", "objects", "lifetime", "caller");
	for (size_t i = 0; i < rows; i++)
		print_row(out, cost, c, &c->rows[1 + i]);
}

static void print_json(FILE *out, const mw_memory_cost_t *cost, const cost_t *c, size_t rows) {
	fprintf(out,
		"{\"view\": \"memory_cost\", \"seconds\": %.3f, \"cpu_ns\": %lld, "
		"\"malloc_ns\": %lld, \"free_ns\": %lld, ",
		cost->seconds, (long long)c->cpu_ns, (long long)c->alloc_ns, (long long)c->free_ns);
	if (cost->has_faults)
		fprintf(out, "\"fault_ns\": %lld, ", (long long)c->fault_ns);
	fputs("\"rows\": [", out);
	for (size_t i = 0; i < rows; i++) {
		const row_t *row = &c->rows[1 + i];
		fprintf(out, "%s\n  {\"malloc_ns\": %lld, \"free_ns\": %lld, ", i > 0 ? "," : "",
			(long long)row->alloc_ns, (long long)row->free_ns);
		if (cost->has_faults)
			fprintf(out, "\"fault_ns\": %lld, ", (long long)row->fault_ns);
		fprintf(out,
			"\"alloc_bytes\": %lld, \"alloc_objects\": %lld, "
			"\"freed_objects\": %lld, \"lifetime_ns\": %lld, \"caller\": ",
			(long long)row->bytes, (long long)row->objects, (long long)row->freed,
			(long long)(row->freed > 0 ? row->lifetime_ns / row->freed : 0));
		mw_view_json_text(out, row->name);
		fputc('}', out);
	}
	fputs("\n]}\n", out);
}

void mw_memory_cost_print(FILE *out, const mw_memory_cost_t *cost) {
	cost_t c = {0};
	find_row(&c, "[unknown]");
	mw_profile_name_ranges(cost->cpu);
	mw_profile_name_ranges(cost->heap);
	mw_profile_name_ranges(cost->whole_run);
	add_cpu(&c, cost->cpu);
	add_heap(&c, cost->heap, false);
	add_heap(&c, cost->whole_run, true);
	size_t rows = c.count - 1, used = 0;
	qsort(c.rows + 1, rows, sizeof(row_t), compare);
	/* Functions that did nothing in this time are known by their lifetimes alone. */
	while (used < rows && (time_of(&c.rows[1 + used]) > 0 || c.rows[1 + used].bytes > 0))
		used++;
	if (cost->row_limit > 0 && used > cost->row_limit)
		used = cost->row_limit;
	(cost->is_json ? print_json : print_text)(out, cost, &c, used);
	for (size_t i = 1; i < c.count; i++)
		free(c.rows[i].name);
	free(c.rows);
	mw_table_clear(&c.by_name);
}
