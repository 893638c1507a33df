/* SPDX-License-Identifier: MIT
 * heaptrack.c -- reads files of `heaptrack` (heaptrack.*.zst, interpreted, versions 2 and 3).
 * A line has a letter and hexadecimal numbers.  Lines define strings, code places, stacks
 * (numbered from 1) and allocations (numbered from 0), and record events. */
#include <stdlib.h>
#include <string.h>

#include "formats/text/lines.h"
#include "formats/text/text_formats.h"
#include "model/memory.h"

/* Most functions inlined at one place.  No compiler inlines deeper. */
#define INLINED_MAX 64
/* Indices of the values, in the order of the sample types. */
enum { ALLOC_OBJECTS, ALLOC_BYTES, LIVE_OBJECTS, LIVE_BYTES, PEAK_OBJECTS, PEAK_BYTES, SUMS };

typedef struct trace {
	uint32_t location;
	uint32_t parent; /* number of an earlier trace; 0 = none */
	int64_t sums[SUMS];
} trace_t;

typedef struct allocation {
	int64_t bytes;
	uint32_t trace;
} allocation_t;

typedef struct heaptrack {
	mw_lines_t lines;
	mw_string_t *strings;
	size_t string_count, string_capacity;
	uint32_t *places; /* places[i]: location of code place i */
	size_t place_count, place_capacity;
	trace_t *traces;
	size_t trace_count, trace_capacity;
	allocation_t *allocations;
	size_t allocation_count, allocation_capacity;
	uint64_t event;      /* number of the last allocation or free */
	uint64_t peak_event; /* number of the event after which most bytes were in use */
	int64_t live_bytes, peak_bytes;
	bool is_second; /* second pass, which ends at the peak */
} heaptrack_t;

bool mw_is_heaptrack(const char *bytes, size_t length) {
	const char *newline = memchr(bytes, '\n', length);
	return length > 4 && bytes[0] == 'v' && bytes[1] == ' ' && newline != NULL &&
	       strspn(bytes + 2, "0123456789abcdef ") == (size_t)(newline - bytes - 2) &&
	       (newline[1] == 'X' || newline[1] == 'A');
}

static bool take_hex(const char **at, uint64_t *value) {
	if (**at != ' ')
		return false;
	char *end;
	*value = strtoull(*at + 1, &end, 16);
	bool taken = end != *at + 1 && *(*at + 1) != ' ' && *(*at + 1) != '\n';
	*at = end;
	return taken;
}

/* Reads a number of an entry, counted from 1; 0 means none. */
static bool take_index(const char **at, size_t count, uint64_t *index) {
	return take_hex(at, index) && *index <= count;
}

/* Reads "s 4 main".  The text may hold any bytes. */
static int take_string(heaptrack_t *h, const char *at) {
	uint64_t length;
	mw_lines_t *r = &h->lines;
	if (!take_hex(&at, &length) || *at != ' ' || length > (uint64_t)(r->end - at - 1))
		return mw_lines_damaged(r, "this is not a string");
	if (h->string_count > MW_READ_ENTRIES_MAX)
		return mw_lines_damaged(r, "it has more strings than any profile has");
	/* A newline inside the text does not end the line. */
	r->at = at + 1 + length + (at + 1 + length < r->end);
	if (h->is_second)
		return 0;
	h->strings =
		mw_grow(h->strings, &h->string_capacity, h->string_count + 1, sizeof(mw_string_t));
	h->strings[h->string_count++] = mw_profile_intern_bytes(r->profile, at + 1, length);
	return 0;
}

static mw_string_t string_at(const heaptrack_t *h, uint64_t index) {
	return index > 0 ? h->strings[index - 1] : 0;
}

static uint32_t add_function(heaptrack_t *h, mw_string_t name, mw_string_t file) {
	mw_function_t function = {.name = name, .system_name = name, .file = file};
	return mw_profile_add_function(h->lines.profile, &function);
}

/* Reads "i address module [function file line]...", innermost function first. */
static int take_place(heaptrack_t *h, const char *at) {
	mw_lines_t *r = &h->lines;
	mw_profile_t *p = r->profile;
	uint64_t address, module, function, file, line;
	mw_line_t lines[INLINED_MAX];
	size_t count = 0;
	if (!take_hex(&at, &address) || !take_index(&at, h->string_count, &module))
		return mw_lines_damaged(r, "this is not a code address");
	while (*at == ' ' && count < INLINED_MAX) {
		file = line = 0;
		if (!take_index(&at, h->string_count, &function) ||
		    (*at == ' ' &&
		     (!take_index(&at, h->string_count, &file) || !take_hex(&at, &line))))
			return mw_lines_damaged(r, "this is not a code address");
		mw_string_t name = string_at(h, function);
		lines[count++] = (mw_line_t){
			.function = add_function(
				h, name != 0 ? name : mw_lines_module_name(p, string_at(h, module)),
				string_at(h, file)),
			.line = (int64_t)(line & INT32_MAX)};
	}
	if (count == 0)
		lines[count++] =
			(mw_line_t){.function = add_function(
					    h, mw_lines_module_name(p, string_at(h, module)), 0)};
	if (h->place_count == MW_READ_ENTRIES_MAX)
		return mw_lines_damaged(r, "it has more code addresses than any profile has");
	mw_mapping_t mapping = {.path = string_at(h, module), .has_functions = true};
	uint32_t number = module != 0 ? mw_profile_add_mapping(p, &mapping) : 0;
	uint32_t location = mw_profile_append_location(p, number, address, false);
	mw_profile_set_lines(p, location, lines, count);
	h->places = mw_grow(h->places, &h->place_capacity, h->place_count + 1, sizeof(uint32_t));
	h->places[h->place_count++] = location;
	return 0;
}

/* Reads "t place caller". */
static int take_trace(heaptrack_t *h, const char *at) {
	uint64_t place, parent;
	if (!take_index(&at, h->place_count, &place) || place == 0 ||
	    !take_index(&at, h->trace_count, &parent) || h->trace_count == MW_READ_ENTRIES_MAX)
		return mw_lines_damaged(&h->lines, "this is not a stack");
	h->traces = mw_grow(h->traces, &h->trace_capacity, h->trace_count + 1, sizeof(trace_t));
	h->traces[h->trace_count++] =
		(trace_t){.location = h->places[place - 1], .parent = (uint32_t)parent};
	return 0;
}

/* Reads "a size stack". */
static int take_allocation(heaptrack_t *h, const char *at) {
	uint64_t bytes, trace;
	if (!take_hex(&at, &bytes) || !take_index(&at, h->trace_count, &trace) || trace == 0 ||
	    bytes > INT64_MAX / 4 || h->allocation_count == MW_READ_ENTRIES_MAX)
		return mw_lines_damaged(&h->lines, "this is not an allocation");
	h->allocations = mw_grow(h->allocations, &h->allocation_capacity, h->allocation_count + 1,
				 sizeof(allocation_t));
	h->allocations[h->allocation_count++] = (allocation_t){(int64_t)bytes, (uint32_t)trace};
	return 0;
}

static void add(int64_t *sum, int64_t value) {
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value > 0 ? INT64_MAX : INT64_MIN;
}

static void count(heaptrack_t *h, const allocation_t *a, int sign) {
	int64_t *sums = h->traces[a->trace - 1].sums;
	if (h->is_second) {
		add(&sums[PEAK_OBJECTS], sign);
		add(&sums[PEAK_BYTES], sign * a->bytes);
		return;
	}
	add(&sums[LIVE_OBJECTS], sign);
	add(&sums[LIVE_BYTES], sign * a->bytes);
	add(&h->live_bytes, sign * a->bytes);
	if (sign > 0) {
		add(&sums[ALLOC_OBJECTS], 1);
		add(&sums[ALLOC_BYTES], a->bytes);
	}
	if (h->live_bytes > h->peak_bytes) {
		h->peak_bytes = h->live_bytes;
		h->peak_event = h->event;
	}
}

/* Reads "+ allocation" and "- allocation". */
static int take_event(heaptrack_t *h, const char *line) {
	uint64_t index;
	const char *at = line + 1;
	if (!take_hex(&at, &index) || index >= h->allocation_count)
		return mw_lines_damaged(&h->lines, "no earlier line describes this allocation");
	h->event++;
	if (!h->is_second || h->event <= h->peak_event)
		count(h, &h->allocations[index], *line == '+' ? 1 : -1);
	return 0;
}

/* Reads "X /path/program argument...". The first file that is mapped is no name for the program: it
 * is the loader. */
static void take_command(heaptrack_t *h, const char *at) {
	mw_profile_t *p = h->lines.profile;
	at = mw_skip_blanks(at);
	size_t length = strcspn(at, "\r\n"), path = strcspn(at, " \t\r\n");
	const char *slash = memrchr(at, '/', path);
	const char *base = slash != NULL ? slash + 1 : at;
	p->origin.args = mw_profile_intern_bytes(p, at, length);
	p->origin.program = mw_profile_intern_bytes(p, base, (size_t)(at + path - base));
}

static int take_line(heaptrack_t *h, const char *line) {
	if (*line == '+' || *line == '-')
		return take_event(h, line);
	if (*line == 's')
		return take_string(h, line + 1);
	if (h->is_second)
		return 0;
	switch (*line) {
	case 'X':
		take_command(h, line + 1);
		return 0;
	case 'i':
		return take_place(h, line + 1);
	case 't':
		return take_trace(h, line + 1);
	case 'a':
		return take_allocation(h, line + 1);
	default:
		/* Lines with times and memory of the process, and lines of newer versions, are
		 * skipped. */
		return 0;
	}
}

static int take_all(heaptrack_t *h) {
	int result = 0;
	for (const char *line; result == 0 && (line = mw_lines_next(&h->lines)) != NULL;)
		result = take_line(h, line);
	return result;
}

static int add_samples(heaptrack_t *h) {
	mw_lines_t *r = &h->lines;
	for (size_t i = 0; i < h->trace_count; i++) {
		if (h->traces[i].sums[ALLOC_OBJECTS] == 0)
			continue;
		r->frame_count = 0;
		for (size_t at = i + 1; at != 0; at = h->traces[at - 1].parent) {
			if (r->frame_count == MW_READ_DEPTH_MAX)
				return mw_lines_damaged(r, "a stack is deeper than 32768 frames");
			r->frames = mw_grow(r->frames, &r->frame_capacity, r->frame_count + 1,
					    sizeof(uint32_t));
			r->frames[r->frame_count++] = h->traces[at - 1].location;
		}
		mw_profile_add_sample(r->profile, r->frames, r->frame_count, h->traces[i].sums,
				      NULL, 0);
	}
	return 0;
}

static int take_version(heaptrack_t *h) {
	const char *at = h->lines.at + 1;
	uint64_t version, format = 0;
	if (!take_hex(&at, &version) || !take_hex(&at, &format) || format < 2)
		return mw_error_set(h->lines.error,
				    "%s: mallow does not read heaptrack's format version %llu; "
				    "record again with heaptrack 1.1 or later",
				    h->lines.name, (unsigned long long)format);
	return 0;
}

int mw_read_heaptrack(mw_profile_t *p, const char *name, const char *bytes, size_t length,
		      mw_error_t *error) {
	heaptrack_t h = {.lines = mw_lines_of(p, name, bytes, length, error)};
	p->origin.format = mw_profile_intern(p, "heaptrack");
	/* heaptrack_print also begins stacks at the caller of operator new.  heaptrack records no
	 * frame of malloc. */
	p->drop_frames = mw_profile_intern(p, "operator new(\\[\\])?");
	mw_profile_add_heap_types(p);
	mw_profile_add_type(p, "peak_objects", "count");
	mw_profile_add_type(p, "peak_space", "bytes");
	p->period = 1;
	int result = take_version(&h);
	if (result == 0)
		result = take_all(&h);
	if (result == 0) {
		h.lines.at = bytes;
		h.lines.line_number = 0;
		h.event = 0;
		h.is_second = true;
		result = take_all(&h);
	}
	if (result == 0)
		result = add_samples(&h);
	free(h.strings);
	free(h.places);
	free(h.traces);
	free(h.allocations);
	free(h.lines.frames);
	return result;
}
