/* SPDX-License-Identifier: MIT
 * allocation_log.c -- reads jemalloc's prof_log (sampled objects that were freed) and
 * prof_recent (the last sampled objects that were allocated).  Both are JSON. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/dropped.h"
#include "formats/text/lines.h"
#include "formats/text/text_formats.h"
#include "model/memory.h"

typedef struct log_reader {
	mw_lines_t lines;
	json_t *root;
	double mean_bytes;
} log_reader_t;

/* Both formats begin with a key that no other format has. */
bool mw_is_allocation_log(const char *bytes, size_t length) {
	size_t blanks = strspn(bytes, " \t\r\n");
	if (bytes[blanks] != '{')
		return false;
	size_t look = length - blanks < 1024 ? length - blanks : 1024;
	return memmem(bytes + blanks, look, "\"lg_sample_rate\"", 16) != NULL ||
	       memmem(bytes + blanks, look, "\"recent_alloc_max\"", 18) != NULL;
}

static int damaged(const log_reader_t *r, const char *why) {
	return mw_error_set(r->lines.error, "%s: %s; the file is damaged or of another format",
			    r->lines.name, why);
}

/* Reads a stack: an array of addresses, as texts or numbers, leaf first. */
static int take_trace(log_reader_t *r, const json_t *trace) {
	r->lines.frame_count = 0;
	size_t i;
	json_t *entry;
	json_array_foreach(trace, i, entry) {
		const char *text = json_string_value(entry);
		char *end = NULL;
		errno = 0;
		uint64_t address = text != NULL ? strtoull(text, &end, 0)
						: (uint64_t)json_integer_value(entry);
		if (text != NULL ? end == text || *end != '\0' || errno != 0
				 : !json_is_integer(entry))
			return damaged(r, "an address of a stack is not a number");
		if (mw_lines_add_frame(&r->lines, address, false) != 0)
			return -1;
	}
	return 0;
}

static int add_object(log_reader_t *r, json_int_t size, bool is_live) {
	if (size < 0)
		return damaged(r, "an object's size is below 0");
	int64_t objects = 1, bytes = size;
	mw_unsample(r->mean_bytes, &objects, &bytes);
	int64_t values[4] = {objects, bytes, is_live ? objects : 0, is_live ? bytes : 0};
	mw_profile_add_sample(r->lines.profile, r->lines.frames, r->lines.frame_count, values, NULL,
			      0);
	return 0;
}

/* Reads "allocations" of prof_log.  Each names its stack by number.  All were freed. */
static int read_log(log_reader_t *r) {
	const json_t *info = json_object_get(r->root, "info");
	const json_t *traces = json_object_get(r->root, "stack_traces");
	json_int_t lg_rate = json_integer_value(json_object_get(info, "lg_sample_rate"));
	if (lg_rate < 0 || lg_rate > 62)
		return damaged(r, "lg_sample_rate is not between 0 and 62");
	r->mean_bytes = lg_rate == 0 ? 0 : ldexp(1, (int)lg_rate);
	mw_profile_t *p = r->lines.profile;
	p->period = (int64_t)1 << lg_rate;
	p->duration_ns = json_integer_value(json_object_get(info, "duration"));
	p->origin.pid = (uint32_t)json_integer_value(json_object_get(info, "pid"));
	p->origin.format = mw_profile_intern(p, "jemalloc prof_log");
	p->drop_frames = mw_profile_intern(p, MW_DROP_ALLOCATION);
	p->default_type = (uint32_t)mw_profile_find_type(p, "alloc_space");
	size_t i;
	json_t *entry;
	json_array_foreach(json_object_get(r->root, "allocations"), i, entry) {
		const json_t *number = json_object_get(entry, "alloc_trace");
		const json_t *trace = json_array_get(traces, (size_t)json_integer_value(number));
		if (!json_is_integer(number) || !json_is_array(trace))
			return damaged(r, "an allocation names a stack that does not exist");
		json_int_t size = json_integer_value(json_object_get(entry, "usize"));
		if (take_trace(r, trace) != 0 || add_object(r, size, false) != 0)
			return -1;
	}
	return 0;
}

/* Reads "recent_alloc" of prof_recent.  Each contains its stack. */
static int read_recent(log_reader_t *r) {
	mw_profile_t *p = r->lines.profile;
	p->period = json_integer_value(json_object_get(r->root, "sample_interval"));
	if (p->period < 0)
		return damaged(r, "sample_interval is below 0");
	r->mean_bytes = p->period <= 1 ? 0 : (double)p->period;
	p->origin.format = mw_profile_intern(p, "jemalloc prof_recent");
	p->drop_frames = mw_profile_intern(p, MW_DROP_ALLOCATION);
	size_t i;
	json_t *entry;
	json_array_foreach(json_object_get(r->root, "recent_alloc"), i, entry) {
		json_int_t size = json_integer_value(json_object_get(entry, "usize"));
		bool is_live = !json_is_true(json_object_get(entry, "released"));
		if (take_trace(r, json_object_get(entry, "alloc_trace")) != 0 ||
		    add_object(r, size, is_live) != 0)
			return -1;
	}
	return 0;
}

int mw_read_allocation_log(mw_profile_t *p, const char *name, const char *bytes, size_t length,
			   mw_error_t *error) {
	log_reader_t r = {.lines = mw_lines_of(p, name, bytes, length, error)};
	json_error_t why;
	r.root = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, &why);
	if (r.root == NULL)
		return mw_error_set(error, "%s:%d: is not JSON: %s", name, why.line, why.text);
	mw_profile_add_heap_types(p);
	bool is_log = json_is_object(json_object_get(r.root, "info"));
	int result = is_log ? read_log(&r) : read_recent(&r);
	json_decref(r.root);
	free(r.lines.frames);
	return result;
}
