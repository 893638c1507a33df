/* SPDX-License-Identifier: MIT
 * heap_text_read.c -- reads the text formats: jemalloc's heap_v2 and gperftools' "heap
 * profile:".
 * Both have sums for each stack.  Sums of sampled profiles are scaled by 1/(1 - exp(-(bytes /
 * objects) / R)), as jeprof and pprof do.  All addresses are return addresses. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/dropped.h"
#include "formats/text/lines.h"
#include "formats/text/text_formats.h"
#include "model/memory.h"

typedef struct counts {
	int64_t inuse_objects, inuse_bytes, alloc_objects, alloc_bytes;
} counts_t;

/* Counts of one of jemalloc's threads, and the thread's name. */
typedef struct thread_counts {
	int64_t id;
	counts_t counts;
} thread_counts_t;

typedef struct thread_name {
	int64_t id;
	mw_string_t name;
} thread_name_t;

typedef struct text_reader {
	mw_lines_t lines;
	double mean_bytes; /* R, mean bytes between samples; 0 = every object was recorded */
	bool has_alloc;
	/* gperftools' files usually have a line for each size of a stack. */
	bool has_sizes;
	thread_counts_t *shares; /* counts by thread for the current stack */
	size_t share_count, share_capacity;
	thread_name_t *names;
	size_t name_count, name_capacity;
} text_reader_t;

bool mw_is_heap_text(const char *bytes, size_t length) {
	(void)length; /* The NUL at the end stops the comparison. */
	return mw_starts_with(bytes, "heap_v2/") ||
	       mw_starts_with(mw_skip_log_prefix(bytes), "heap profile:");
}

/* Reads "objects: bytes [objects: bytes]". What is in use is negative where memory was freed that
 * was allocated before the profile began. */
static bool take_counts(const char **at, counts_t *c) {
	return mw_take_signed(at, &c->inuse_objects) && mw_take_char(at, ':') &&
	       mw_take_signed(at, &c->inuse_bytes) && mw_take_char(at, '[') &&
	       mw_take_number(at, &c->alloc_objects) && mw_take_char(at, ':') &&
	       mw_take_number(at, &c->alloc_bytes) && mw_take_char(at, ']');
}

static int64_t to_count(double value) {
	int64_t limit = (int64_t)1 << 62;
	return value > 0x1p62 ? limit : value < -0x1p62 ? -limit : (int64_t)llround(value);
}

void mw_unsample(double mean_bytes, int64_t *objects, int64_t *bytes) {
	if (mean_bytes <= 0 || *objects == 0 || *bytes == 0 || (*objects < 0) != (*bytes < 0))
		return;
	double mean = (double)*bytes / (double)*objects;
	double weight = 1.0 / -expm1(-mean / mean_bytes);
	*objects = to_count((double)*objects * weight);
	*bytes = to_count((double)*bytes * weight);
}

/* True if the location lies in a library that holds only an allocator. */
static bool is_in_allocator(const mw_profile_t *p, uint32_t location) {
	static const char *const libraries[] = {"libjemalloc", "libtcmalloc", "libmimalloc"};
	const mw_mapping_t *mapping = &p->mappings[p->locations[location].mapping];
	const char *path = mw_profile_string(p, mapping->path);
	const char *slash = strrchr(path, '/');
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		if (slash != NULL && mw_starts_with(slash + 1, libraries[i]))
			return true;
	return false;
}

/* Removes the frames of allocators above the caller of malloc, which some allocators record.
 * Otherwise they would be the leaf of every stack. */
static void drop_allocator_frames(text_reader_t *r) {
	size_t own = 0;
	while (own + 1 < r->lines.frame_count &&
	       is_in_allocator(r->lines.profile, r->lines.frames[own]))
		own++;
	r->lines.frame_count -= own;
	memmove(r->lines.frames, r->lines.frames + own, r->lines.frame_count * sizeof(uint32_t));
}

/* Fills in `values` in the order of the sample types. */
static void put_counts(const text_reader_t *r, const counts_t *c, int64_t values[4]) {
	const int64_t all[4] = {c->alloc_objects, c->alloc_bytes, c->inuse_objects, c->inuse_bytes};
	const int64_t inuse[4] = {c->inuse_objects, c->inuse_bytes, 0, 0};
	memcpy(values, r->has_alloc ? all : inuse, sizeof(all));
}

/* Returns one thread's part of a sum.  The part is the rounded sum up to the end of the thread's
 * share minus the rounded sum up to its beginning, so all parts add up to the total. */
static int64_t part(int64_t whole, int64_t before, int64_t own, int64_t of) {
	if (of <= 0)
		return 0;
	double scale = (double)whole / (double)of;
	int64_t begin = before < of ? before : of;
	int64_t end = own < of - begin ? begin + own : of;
	return to_count((double)end * scale) - to_count((double)begin * scale);
}

/* Adds the sample of one thread.  `own` is its share of the stack's scaled `values`; `before`
 * counts the shares of earlier threads and is increased by `own`. */
static void add_part(text_reader_t *r, const int64_t *values, const int64_t *raw, int64_t *before,
		     const counts_t *counts, const mw_label_t *labels, size_t label_count) {
	int64_t own[4], parts[4];
	put_counts(r, counts, own);
	for (size_t i = 0; i < r->lines.profile->type_count; i++) {
		parts[i] = part(values[i], before[i], own[i], raw[i]);
		if (__builtin_add_overflow(before[i], own[i], &before[i]))
			before[i] = INT64_MAX;
	}
	mw_profile_add_sample(r->lines.profile, r->lines.frames, r->lines.frame_count, parts,
			      labels, label_count);
}

/* Returns "worker", or "thread 7", as for state files. */
static mw_string_t name_of_thread(text_reader_t *r, int64_t id) {
	for (size_t i = 0; i < r->name_count; i++)
		if (r->names[i].id == id)
			return r->names[i].name;
	char name[32];
	snprintf(name, sizeof(name), "thread %" PRId64, id);
	return mw_profile_intern(r->lines.profile, name);
}

/* Adds a sample for each thread, and one without labels for threads that jemalloc does not list. */
static void add_threads(text_reader_t *r, const int64_t *values, const counts_t *whole) {
	mw_profile_t *p = r->lines.profile;
	int64_t raw[4], before[4] = {0};
	put_counts(r, whole, raw);
	for (size_t i = 0; i < r->share_count; i++) {
		const thread_counts_t *share = &r->shares[i];
		const mw_label_t labels[] = {
			{.key = mw_profile_intern(p, MW_LABEL_THREAD),
			 .text = name_of_thread(r, share->id)},
			{.key = mw_profile_intern(p, MW_LABEL_THREAD_ID), .number = share->id},
		};
		add_part(r, values, raw, before, &share->counts, labels, 2);
	}
	bool is_whole = true;
	for (size_t i = 0; i < p->type_count; i++)
		is_whole &= before[i] >= raw[i];
	if (!is_whole)
		add_part(r, values, raw, before, whole, NULL, 0);
}

/* Returns the label with the mean size, as pprof computes it: of objects in use, or of all
 * objects if none is in use. */
static mw_label_t size_label(text_reader_t *r, const counts_t *c) {
	const mw_string_t bytes = mw_profile_intern(r->lines.profile, MW_LABEL_SIZE);
	int64_t size = c->inuse_objects != 0  ? c->inuse_bytes / c->inuse_objects
		       : c->alloc_objects > 0 ? c->alloc_bytes / c->alloc_objects
					      : 0;
	return (mw_label_t){.key = bytes, .number = size, .unit = bytes};
}

static int add_stack(text_reader_t *r, counts_t c) {
	if (r->lines.profile->sample_count + r->share_count >= MW_READ_ENTRIES_MAX)
		return mw_lines_damaged(&r->lines, "it has more stacks than any profile has");
	if (r->lines.frame_count > 0)
		drop_allocator_frames(r);
	const counts_t whole = c;
	const mw_label_t size = size_label(r, &c);
	int64_t values[4];
	mw_unsample(r->mean_bytes, &c.inuse_objects, &c.inuse_bytes);
	mw_unsample(r->mean_bytes, &c.alloc_objects, &c.alloc_bytes);
	put_counts(r, &c, values);
	if (r->share_count > 0)
		add_threads(r, values, &whole);
	else
		mw_profile_add_sample(r->lines.profile, r->lines.frames, r->lines.frame_count,
				      values, r->has_sizes ? &size : NULL, r->has_sizes);
	return 0;
}

static void add_types(text_reader_t *r, const counts_t *total) {
	mw_profile_t *p = r->lines.profile;
	/* Writers that do not count freed objects may repeat the first pair. */
	r->has_alloc = (total->alloc_objects != 0 || total->alloc_bytes != 0) &&
		       (total->alloc_objects != total->inuse_objects ||
			total->alloc_bytes != total->inuse_bytes);
	if (r->has_alloc) {
		mw_profile_add_heap_types(p);
	} else {
		p->origin.alloc_is_inuse = total->alloc_objects != 0 || total->alloc_bytes != 0;
		mw_profile_add_type(p, "inuse_objects", "count");
		p->default_type = (uint32_t)mw_profile_add_type(p, "inuse_space", "bytes");
		p->period_type.type = mw_profile_intern(p, "space");
		p->period_type.unit = mw_profile_intern(p, "bytes");
	}
}

/* Reads " t3: counts" of a stack, or of the whole profile.  The thread's name follows there. */
static int take_thread(text_reader_t *r, const char *line, bool in_stack) {
	thread_counts_t share = {0};
	line++;
	if (!mw_take_number(&line, &share.id) || !mw_take_char(&line, ':') ||
	    !take_counts(&line, &share.counts))
		return mw_lines_damaged(&r->lines, "these are not counts of objects and bytes");
	if (in_stack) {
		r->shares = mw_grow(r->shares, &r->share_capacity, r->share_count + 1,
				    sizeof(*r->shares));
		r->shares[r->share_count++] = share;
		return 0;
	}
	line = mw_skip_blanks(line);
	size_t length = strcspn(line, "\r\n");
	if (length == 0)
		return 0;
	r->names = mw_grow(r->names, &r->name_capacity, r->name_count + 1, sizeof(*r->names));
	r->names[r->name_count++] =
		(thread_name_t){share.id, mw_profile_intern_bytes(r->lines.profile, line, length)};
	return 0;
}

/* Adds the samples of the stack whose last line was read. */
static int end_stack(text_reader_t *r, const counts_t *whole, bool has_counts) {
	int result = has_counts ? add_stack(r, *whole) : 0;
	r->share_count = 0;
	return result;
}

/* Reads "heap_v2/R", then " t*: counts", then for each stack "@ addresses" and its " t*:
 * counts".  Lines of single threads are parts of " t*". */
static int read_jemalloc(text_reader_t *r) {
	const char *line = mw_lines_next(&r->lines) + strlen("heap_v2/");
	int64_t mean_bytes;
	if (!mw_take_number(&line, &mean_bytes) || mean_bytes == 0)
		return mw_lines_damaged(
			&r->lines, "heap_v2/ is not followed by the mean bytes between samples");
	r->mean_bytes = (double)mean_bytes;
	/* 1: everything was recorded, or the numbers are estimates already, as in files that
	 * mallow wrote. */
	r->lines.profile->period = mean_bytes > 1 ? mean_bytes : 0;
	bool in_stack = false, has_total = false, has_counts = false;
	counts_t counts = {0};
	while ((line = mw_lines_next(&r->lines)) != NULL) {
		line = mw_skip_blanks(line);
		if (*line == '@') {
			if (!has_total)
				return mw_lines_damaged(&r->lines,
							"a stack comes before the total");
			if (end_stack(r, &counts, has_counts) != 0 ||
			    mw_lines_take_stack(&r->lines, line + 1) != 0)
				return -1;
			in_stack = true;
			has_counts = false;
		} else if (mw_starts_with(line, "t*:")) {
			line += 3;
			if (!take_counts(&line, &counts))
				return mw_lines_damaged(
					&r->lines, "these are not counts of objects and bytes");
			if (!in_stack && !has_total)
				add_types(r, &counts);
			has_total = true;
			has_counts = in_stack;
		} else if (*line == 't') {
			if (take_thread(r, line, in_stack) != 0)
				return -1;
		} else if (*line != '\n' && *line != '\0') {
			return mw_lines_damaged(&r->lines,
						"this is not a line of a heap_v2 profile");
		}
	}
	if (!has_total)
		return mw_lines_damaged(&r->lines, "it ends before the total; it was cut short");
	return end_stack(r, &counts, has_counts);
}

/* Reads the kind: "@ heapprofile" is complete; "heap_v2/R" and "heapz_v2/R" are sampled with
 * mean R; "heap/R" is sampled with mean R / 2. */
static int take_kind(text_reader_t *r, const char *at) {
	at = mw_skip_blanks(at);
	size_t length = strcspn(at, "/ \t\r\n");
	const char *number = at + length + 1;
	bool sampled = at[length] == '/';
	int64_t mean_bytes = 0;
	if (sampled && !mw_take_number(&number, &mean_bytes))
		return mw_lines_damaged(&r->lines,
					"the mean bytes between samples are not a number");
	bool halve = sampled && length == 4 && mw_starts_with(at, "heap");
	r->lines.profile->period = mean_bytes;
	r->mean_bytes = halve ? (double)mean_bytes / 2 : (double)mean_bytes;
	if (r->mean_bytes <= 1) /* every object was recorded */
		r->mean_bytes = 0;
	return 0;
}

static int read_gperftools(text_reader_t *r) {
	r->has_sizes = true;
	const char *line = mw_skip_log_prefix(mw_lines_next(&r->lines));
	line += strlen("heap profile:");
	counts_t counts;
	if (!take_counts(&line, &counts))
		return mw_lines_damaged(&r->lines,
					"\"heap profile:\" is not followed by the totals");
	if (mw_take_char(&line, '@') && take_kind(r, line) != 0)
		return -1;
	add_types(r, &counts);
	while ((line = mw_lines_next(&r->lines)) != NULL) {
		line = mw_skip_blanks(mw_skip_log_prefix(line));
		if (*line == '#')
			mw_lines_take_comment(&r->lines, line);
		if (*line == '#' || *line == '\n' || *line == '\0')
			continue;
		if (!take_counts(&line, &counts) || !mw_take_char(&line, '@'))
			return mw_lines_damaged(&r->lines, "this is not a line of a heap profile");
		if (mw_lines_take_stack(&r->lines, line) != 0 || add_stack(r, counts) != 0)
			return -1;
	}
	return 0;
}

int mw_read_heap_text(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		      mw_error_t *error) {
	text_reader_t r = {.lines = mw_lines_of(profile, name, bytes, length, error)};
	bool is_jemalloc = mw_starts_with(bytes, "heap_v2/");
	profile->origin.format = mw_profile_intern(
		profile, is_jemalloc ? "jemalloc heap_v2" : "gperftools heap profile");
	profile->drop_frames = mw_profile_intern(profile, MW_DROP_ALLOCATION);
	profile->keep_frames = mw_profile_intern(profile, MW_KEEP_ALLOCATION);
	mw_lines_cut_functions(&r.lines);
	mw_lines_cut_mappings(&r.lines);
	int result = is_jemalloc ? read_jemalloc(&r) : read_gperftools(&r);
	free(r.lines.frames);
	free(r.lines.functions);
	free(r.shares);
	free(r.names);
	return result;
}
