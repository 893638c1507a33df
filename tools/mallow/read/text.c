/* SPDX-License-Identifier: MIT
 * text.c -- reads the text formats: jemalloc's heap_v2 and gperftools' "heap profile:".
 *
 * Both give sums for each stack.  Sampled ones are scaled by 1/(1 - exp(-(bytes / objects) / R)),
 * as their own readers do.  All addresses are return addresses. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/alloc.h"
#include "read/formats.h"

typedef struct counts {
	int64_t inuse_objects, inuse_bytes, alloc_objects, alloc_bytes;
} counts_t;

typedef struct text_reader {
	mw_profile_t *profile;
	const char *name;
	mw_error_t *error;
	const char *at; /* start of the next line; the text ends with a NUL */
	const char *end;
	size_t line_number;
	double mean_bytes; /* R; 0: counts are complete */
	bool has_alloc;
	uint32_t *frames;
	size_t frame_count, frame_capacity;
} text_reader_t;

static int damaged(const text_reader_t *r, const char *why) {
	return mw_error_set(r->error, "%s:%zu: %s; the file is damaged or of another format",
			    r->name, r->line_number, why);
}

static bool starts_with(const char *text, const char *start) {
	return strncmp(text, start, strlen(start)) == 0;
}

bool mw_is_heap_text(const char *bytes, size_t length) {
	(void)length; /* the NUL at the end stops the comparison */
	return starts_with(bytes, "heap_v2/") || starts_with(bytes, "heap profile:");
}

/* Moves on to the next line; returns the one that was next, or NULL at the end.  Lines are ended in
 * place by their caller's bounds: nothing is written. */
static const char *next_line(text_reader_t *r) {
	if (r->at >= r->end)
		return NULL;
	const char *line = r->at;
	const char *newline = memchr(line, '\n', (size_t)(r->end - line));
	r->at = newline != NULL ? newline + 1 : r->end;
	r->line_number++;
	return line;
}

static const char *skip_blanks(const char *at) {
	while (*at == ' ' || *at == '\t' || *at == '\r')
		at++;
	return at;
}

static bool take_char(const char **at, char wanted) {
	*at = skip_blanks(*at);
	if (**at != wanted)
		return false;
	(*at)++;
	return true;
}

/* A decimal number without a sign, clamped. */
static bool take_number(const char **at, int64_t *value) {
	*at = skip_blanks(*at);
	if (!isdigit((unsigned char)**at))
		return false;
	char *end;
	errno = 0;
	unsigned long long number = strtoull(*at, &end, 10);
	*value = errno != 0 || number > INT64_MAX ? INT64_MAX : (int64_t)number;
	*at = end;
	return true;
}

/* "objects: bytes [objects: bytes]" */
static bool take_counts(const char **at, counts_t *c) {
	return take_number(at, &c->inuse_objects) && take_char(at, ':') &&
	       take_number(at, &c->inuse_bytes) && take_char(at, '[') &&
	       take_number(at, &c->alloc_objects) && take_char(at, ':') &&
	       take_number(at, &c->alloc_bytes) && take_char(at, ']');
}

static int64_t to_count(double value) {
	return value < 0x1p62 ? (int64_t)llround(value) : (int64_t)1 << 62;
}

static void scale(const text_reader_t *r, int64_t *objects, int64_t *bytes) {
	if (r->mean_bytes <= 0 || *objects <= 0 || *bytes <= 0)
		return;
	double mean = (double)*bytes / (double)*objects;
	double weight = 1.0 / -expm1(-mean / r->mean_bytes);
	*objects = to_count((double)*objects * weight);
	*bytes = to_count((double)*bytes * weight);
}

/* The addresses up to the end of the line become r->frames. */
static int take_stack(text_reader_t *r, const char *at) {
	r->frame_count = 0;
	for (at = skip_blanks(at); *at != '\n' && *at != '\0'; at = skip_blanks(at)) {
		char *end;
		errno = 0;
		uint64_t address = strtoull(at, &end, 16);
		if (end == at || errno != 0 || *at == '-' || *at == '+')
			return damaged(r, "an address of a stack is no number");
		if (r->frame_count == MW_READ_DEPTH_MAX)
			return damaged(r, "a stack is deeper than 32768 frames");
		at = end;
		/* The call, not what comes after it. */
		if (address > 0)
			address--;
		uint32_t mapping = mw_profile_find_mapping(r->profile, address);
		r->frames = mw_grow(r->frames, &r->frame_capacity, r->frame_count + 1,
				    sizeof(uint32_t));
		r->frames[r->frame_count++] =
			mw_profile_add_location(r->profile, mapping, address, false);
	}
	return 0;
}

/* Is the location in a library that is nothing but an allocator? */
static bool is_in_allocator(const mw_profile_t *p, uint32_t location) {
	static const char *const libraries[] = {"libjemalloc", "libtcmalloc", "libmimalloc"};
	const mw_mapping_t *mapping = &p->mappings[p->locations[location].mapping];
	const char *path = mw_profile_string(p, mapping->path);
	const char *slash = strrchr(path, '/');
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		if (slash != NULL && starts_with(slash + 1, libraries[i]))
			return true;
	return false;
}

/* Other allocators record frames of their own above the caller of malloc: without this they would
 * be the leaf of everything. */
static void drop_allocator_frames(text_reader_t *r) {
	size_t own = 0;
	while (own + 1 < r->frame_count && is_in_allocator(r->profile, r->frames[own]))
		own++;
	r->frame_count -= own;
	memmove(r->frames, r->frames + own, r->frame_count * sizeof(uint32_t));
}

static int add_stack(text_reader_t *r, counts_t c) {
	if (r->profile->sample_count == MW_READ_ENTRIES_MAX)
		return damaged(r, "it has more stacks than any profile");
	if (r->frame_count > 0)
		drop_allocator_frames(r);
	scale(r, &c.inuse_objects, &c.inuse_bytes);
	scale(r, &c.alloc_objects, &c.alloc_bytes);
	int64_t values[4] = {c.inuse_objects, c.inuse_bytes, 0, 0};
	if (r->has_alloc) {
		memcpy(values,
		       (int64_t[]){c.alloc_objects, c.alloc_bytes, c.inuse_objects, c.inuse_bytes},
		       sizeof(values));
	}
	mw_profile_add_sample(r->profile, r->frames, r->frame_count, values, NULL, 0);
	return 0;
}

/* A line of /proc/<pid>/maps; other lines are left out. */
static void take_mapping(text_reader_t *r, const char *line, const char *end) {
	char *at;
	mw_mapping_t mapping = {.start = strtoull(line, &at, 16)};
	if (at == line || *at != '-')
		return;
	mapping.limit = strtoull(at + 1, &at, 16);
	const char *access = skip_blanks(at);
	if (end - access < 5 || access[2] != 'x')
		return;
	mapping.offset = strtoull(access + 4, &at, 16);
	const char *path = at;
	/* Device and inode. */
	for (int field = 0; field < 2; field++) {
		path = skip_blanks(path);
		while (path < end && *path != ' ' && *path != '\t')
			path++;
	}
	path = skip_blanks(path);
	static const char deleted[] = " (deleted)";
	while (end > path && isspace((unsigned char)end[-1]))
		end--;
	if (end - path > (ptrdiff_t)strlen(deleted) &&
	    memcmp(end - strlen(deleted), deleted, strlen(deleted)) == 0)
		end -= strlen(deleted);
	if (path < end && mapping.limit > mapping.start) {
		mapping.path = mw_profile_intern_bytes(r->profile, path, (size_t)(end - path));
		mw_profile_add_mapping(r->profile, &mapping);
	}
}

/* The mappings come last but are needed first.  Cuts them off the text. */
static void take_mappings(text_reader_t *r) {
	static const char title[] = "\nMAPPED_LIBRARIES:";
	const char *found = memmem(r->at, (size_t)(r->end - r->at), title, strlen(title));
	if (found == NULL)
		return;
	text_reader_t maps = *r;
	maps.at = found + 1;
	next_line(&maps);
	for (const char *line; (line = next_line(&maps)) != NULL;)
		take_mapping(r, line, maps.at);
	r->end = found + 1;
}

static void add_types(text_reader_t *r, const counts_t *total) {
	mw_profile_t *p = r->profile;
	/* Some writers repeat the first pair where they do not count what was freed. */
	r->has_alloc = (total->alloc_objects != 0 || total->alloc_bytes != 0) &&
		       (total->alloc_objects != total->inuse_objects ||
			total->alloc_bytes != total->inuse_bytes);
	if (r->has_alloc) {
		mw_profile_add_heap_types(p);
	} else {
		mw_profile_add_type(p, "inuse_objects", "count");
		p->default_type = (uint32_t)mw_profile_add_type(p, "inuse_space", "bytes");
		p->period_type.type = mw_profile_intern(p, "space");
		p->period_type.unit = mw_profile_intern(p, "bytes");
	}
}

/* "heap_v2/R", then " t*: counts", then for each stack "@ addresses" and its " t*: counts"; lines
 * of single threads are parts of those. */
static int read_jemalloc(text_reader_t *r) {
	const char *line = next_line(r) + strlen("heap_v2/");
	int64_t mean_bytes;
	if (!take_number(&line, &mean_bytes) || mean_bytes == 0)
		return damaged(r, "heap_v2/ is not followed by the mean bytes between samples");
	r->mean_bytes = (double)mean_bytes;
	r->profile->period = mean_bytes;
	bool in_stack = false, has_total = false;
	while ((line = next_line(r)) != NULL) {
		line = skip_blanks(line);
		counts_t counts;
		if (*line == '@') {
			if (!has_total)
				return damaged(r, "a stack comes before the total");
			if (take_stack(r, line + 1) != 0)
				return -1;
			in_stack = true;
		} else if (starts_with(line, "t*:")) {
			line += 3;
			if (!take_counts(&line, &counts))
				return damaged(r, "these are no counts");
			if (in_stack && add_stack(r, counts) != 0)
				return -1;
			if (!in_stack && !has_total)
				add_types(r, &counts);
			has_total = true;
			in_stack = false;
		} else if (*line != 't' && *line != '\n' && *line != '\0') {
			return damaged(r, "this is no line of a heap_v2 profile");
		}
	}
	return has_total ? 0 : damaged(r, "it ends before the total; it was cut short");
}

/* "@ heapprofile": complete.  "heap_v2/R", "heapz_v2/R": sampled.  "heap/R": likewise, and R is
 * twice the mean. */
static int take_kind(text_reader_t *r, const char *at) {
	at = skip_blanks(at);
	size_t length = strcspn(at, "/ \t\r\n");
	const char *number = at + length + 1;
	bool sampled = at[length] == '/';
	int64_t mean_bytes = 0;
	if (sampled && !take_number(&number, &mean_bytes))
		return damaged(r, "the mean bytes between samples are no number");
	bool halve = sampled && length == 4 && starts_with(at, "heap");
	r->profile->period = mean_bytes;
	r->mean_bytes = halve ? (double)mean_bytes / 2 : (double)mean_bytes;
	if (r->mean_bytes <= 1) /* nothing is left out */
		r->mean_bytes = 0;
	return 0;
}

static int read_gperftools(text_reader_t *r) {
	const char *line = next_line(r) + strlen("heap profile:");
	counts_t counts;
	if (!take_counts(&line, &counts))
		return damaged(r, "\"heap profile:\" is not followed by the totals");
	if (take_char(&line, '@') && take_kind(r, line) != 0)
		return -1;
	add_types(r, &counts);
	while ((line = next_line(r)) != NULL) {
		line = skip_blanks(line);
		if (*line == '\n' || *line == '\0')
			continue;
		if (!take_counts(&line, &counts) || !take_char(&line, '@'))
			return damaged(r, "this is no line of a heap profile");
		if (take_stack(r, line) != 0 || add_stack(r, counts) != 0)
			return -1;
	}
	return 0;
}

int mw_read_heap_text(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		      mw_error_t *error) {
	text_reader_t r = {.profile = profile,
			   .name = name,
			   .error = error,
			   .at = bytes,
			   .end = bytes + length};
	bool is_jemalloc = starts_with(bytes, "heap_v2/");
	profile->origin.format = mw_profile_intern(
		profile, is_jemalloc ? "jemalloc heap_v2" : "gperftools heap profile");
	take_mappings(&r);
	int result = is_jemalloc ? read_jemalloc(&r) : read_gperftools(&r);
	free(r.frames);
	return result;
}
