/* SPDX-License-Identifier: MIT
 * profile.h -- a profile in memory: what every reader makes and every writer and report takes.
 * Layer: tools/model.
 *
 * All strings, mappings, functions and locations are numbered from 1 in arrays whose entry 0 stands
 * for "none" and is zero (string 0 is ""), and are stored once however often they are added.
 * Entries and strings are owned by the profile; adding moves the arrays, so keep numbers rather
 * than pointers while adding.  The shape is that of pprof's profile.proto.  Not thread-safe. */
#ifndef MW_TOOL_MODEL_PROFILE_H
#define MW_TOOL_MODEL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t mw_string_t; /* number of an interned string */

typedef struct mw_value_type {
	mw_string_t type; /* "inuse_space" */
	mw_string_t unit; /* "bytes" */
} mw_value_type_t;

/* A file mapped into the profiled program. */
typedef struct mw_mapping {
	uint64_t start; /* addresses as in the profiled program */
	uint64_t limit;
	uint64_t offset; /* in the file, of `start` */
	uint64_t bias;   /* address in the program - address in the ELF file; see bias_known */
	mw_string_t path;
	mw_string_t build_id; /* lower-case hex; 0: not known */
	bool bias_known;      /* false: work it out from the ELF file's segments */
	bool has_functions;   /* symbols were looked up; as in profile.proto */
	bool has_filenames;
	bool has_line_numbers;
	bool has_inline_frames;
} mw_mapping_t;

typedef struct mw_function {
	mw_string_t name;        /* demangled */
	mw_string_t system_name; /* as the linker sees it */
	mw_string_t file;        /* source file, 0: not known */
	int64_t start_line;
} mw_function_t;

typedef struct mw_line {
	uint32_t function; /* number of a function */
	int64_t line;      /* 0: not known */
} mw_line_t;

/* An address that occurs in stacks.  `address` is the one to look up: a return address less 1 (so
 * that it lies in the call), or the exact PC of a frame interrupted by a signal. */
typedef struct mw_location {
	uint64_t address;    /* as in the profiled program */
	uint32_t mapping;    /* 0: none known */
	bool is_exact;       /* not a return address */
	bool is_folded;      /* as in profile.proto: several functions share the code */
	uint32_t line_count; /* 0: no symbols.  Line 0 is the innermost inlined function */
	size_t line_first;   /* in profile->lines */
} mw_location_t;

typedef struct mw_label {
	mw_string_t key;
	mw_string_t text; /* 0: a number */
	int64_t number;
	mw_string_t unit; /* of the number */
} mw_label_t;

/* Label of a sample whose objects were asked for with this size; only 0 is told apart. */
#define MW_LABEL_REQUEST "request"
/* Of what is in use, and of what was allocated: the size of each object (a number of bytes).  Of
 * what is in use: the thread that made it (its name, and its id as a number), and how old it is at
 * the profile's time.  Of what was freed: how long it lived.  Both are texts, powers of ten. */
#define MW_LABEL_SIZE "bytes"
#define MW_LABEL_THREAD "thread"
#define MW_LABEL_THREAD_ID "thread_id"
#define MW_LABEL_LIFETIME "lifetime"
#define MW_LABEL_AGE "age"

typedef struct mw_sample {
	size_t frame_first; /* in profile->frames: location numbers, leaf first */
	size_t label_first; /* in profile->labels */
	uint32_t depth;
	uint32_t label_count;
} mw_sample_t;

/* Where the profile comes from; whatever is not known is 0. */
typedef struct mw_origin {
	mw_string_t program; /* base name of the executable */
	mw_string_t args;    /* command line, separated by spaces */
	mw_string_t session; /* option prof_session of the process */
	mw_string_t version; /* of the library that wrote it */
	mw_string_t source;  /* path it was read from */
	mw_string_t format; /* for people: "state file", "profile.proto", "jemalloc heap_v2", ... */
	uint32_t pid;
	uint32_t flags;        /* MW_STATE_* of state/layout.h */
	uint64_t live_samples; /* samples behind the in-use numbers; 0: not known */
	uint64_t alloc_samples;
} mw_origin_t;

typedef struct mw_profile {
	mw_value_type_t *types;
	size_t type_count;
	uint32_t default_type; /* index in `types` */

	mw_sample_t *samples;
	size_t sample_count;
	int64_t *values;  /* sample_count x type_count */
	uint32_t *frames; /* see mw_sample_t */
	size_t frame_count;
	mw_label_t *labels;
	size_t label_count;

	/* The counts include entry 0. */
	mw_location_t *locations;
	size_t location_count;
	mw_line_t *lines;
	size_t line_count;
	mw_mapping_t *mappings;
	size_t mapping_count;
	mw_function_t *functions;
	size_t function_count;

	mw_string_t *comments;
	size_t comment_count;

	/* As in profile.proto: regular expressions of functions that stacks end above; 0: none. */
	mw_string_t drop_frames;
	mw_string_t keep_frames;

	mw_value_type_t period_type; /* "space", "bytes" */
	int64_t period;              /* mean bytes between samples (T); 0: not known */
	int64_t time_ns;             /* since 1970 */
	int64_t duration_ns;         /* 0: not known */
	mw_origin_t origin;

	struct mw_profile_index *index; /* of profile.c */
} mw_profile_t;

mw_profile_t *mw_profile_new(void);
void mw_profile_free(mw_profile_t *profile); /* NULL is fine */

/* Interns `length` bytes, cut at the first NUL. */
mw_string_t mw_profile_intern_bytes(mw_profile_t *profile, const char *text, size_t length);
mw_string_t mw_profile_intern(mw_profile_t *profile, const char *text);
/* The text of a string; valid as long as the profile.  Never NULL: "" for numbers out of range. */
const char *mw_profile_string(const mw_profile_t *profile, mw_string_t string);
size_t mw_profile_string_count(const mw_profile_t *profile);

/* Sample types are added before the first sample; returns the type's index. */
size_t mw_profile_add_type(mw_profile_t *profile, const char *type, const char *unit);
/* The four of a heap profile, in pprof's order: alloc_objects, alloc_space, inuse_objects and
 * inuse_space (the default), sampled by space in bytes. */
void mw_profile_add_heap_types(mw_profile_t *profile);
/* Behind those four, what only state files know: peak_objects, peak_space; alloc_requested,
 * inuse_requested (bytes asked for); alloc_samples, inuse_samples (behind the estimates);
 * freed_objects, of these freed_elsewhere (by another thread) and temporary_objects (before their
 * thread allocated again), and lifetime (of all of them together); pinned_space (free bytes in
 * pages that cannot go back because of what is in use, split profiles only). */
void mw_profile_add_state_types(mw_profile_t *profile);
/* The index of a type by name, or -1. */
int mw_profile_find_type(const mw_profile_t *profile, const char *type);

/* Each returns the number of the entry, an old one when it was there before. */
uint32_t mw_profile_add_mapping(mw_profile_t *profile, const mw_mapping_t *mapping);
uint32_t mw_profile_add_function(mw_profile_t *profile, const mw_function_t *function);
uint32_t mw_profile_add_location(mw_profile_t *profile, uint32_t mapping, uint64_t address,
				 bool is_exact);
/* Always a new entry: for readers of files that have numbered them already. */
uint32_t mw_profile_append_mapping(mw_profile_t *profile, const mw_mapping_t *mapping);
uint32_t mw_profile_append_function(mw_profile_t *profile, const mw_function_t *function);
uint32_t mw_profile_append_location(mw_profile_t *profile, uint32_t mapping, uint64_t address,
				    bool is_exact);
/* Replaces the lines of a location; innermost inlined function first. */
void mw_profile_set_lines(mw_profile_t *profile, uint32_t location, const mw_line_t *lines,
			  size_t count);
/* The mapping that holds `address`, or 0. */
uint32_t mw_profile_find_mapping(mw_profile_t *profile, uint64_t address);

/* `values` holds type_count numbers.  Everything is copied. */
void mw_profile_add_sample(mw_profile_t *profile, const uint32_t *locations, size_t depth,
			   const int64_t *values, const mw_label_t *labels, size_t label_count);
/* Gives a sample another stack. */
void mw_profile_set_frames(mw_profile_t *profile, size_t sample, const uint32_t *locations,
			   size_t depth);
void mw_profile_add_comment(mw_profile_t *profile, const char *text);

/* The values of sample `i`: type_count numbers. */
static inline const int64_t *mw_profile_values(const mw_profile_t *profile, size_t i) {
	return profile->values + i * profile->type_count;
}

/* How many frames a location shows as: its lines, or one that has none. */
static inline uint32_t mw_location_frames(const mw_location_t *location) {
	return location->line_count > 0 ? location->line_count : 1;
}

/* The k-th of these frames, from the innermost; NULL: no line is known. */
static inline const mw_line_t *mw_location_line(const mw_profile_t *profile,
						const mw_location_t *location, uint32_t k) {
	return location->line_count > 0 ? &profile->lines[location->line_first + k] : NULL;
}

/* Does the sample's label say its objects were asked for with 0 bytes? */
bool mw_profile_is_zero_request(const mw_profile_t *profile, const mw_sample_t *sample);

/* Do two samples have the same frames?  (Readers put those that differ in labels side by side.) */
bool mw_profile_same_stack(const mw_profile_t *profile, size_t a, size_t b);

/* Sum of one type over all samples, saturating. */
int64_t mw_profile_total(const mw_profile_t *profile, size_t type);

#endif
