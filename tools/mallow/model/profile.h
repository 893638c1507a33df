/* SPDX-License-Identifier: MIT
 * profile.h -- a profile in memory.  Every reader makes one; every writer and view takes one.
 * Layer: model.  The folder's door.  Beside it: merge.h adds and subtracts profiles, history.h
 * holds the heap's growth, table.h is a hash table, text.h makes text safe to print, memory.h
 * and error.h handle memory and errors.
 *
 * Strings, mappings, functions and locations are numbered from 1.  Entry 0 of each array means
 * "none" and is zero; string 0 is "".  Adding an entry that exists returns the existing number.
 * The profile owns all entries and strings.  Adding an entry may move the arrays: callers that
 * add keep numbers, not pointers.
 * The structure follows pprof's profile.proto.  Not thread-safe. */
#ifndef MW_TOOL_MODEL_PROFILE_H
#define MW_TOOL_MODEL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/history.h"

typedef uint32_t mw_string_t; /* number of an interned string */

typedef struct mw_value_type {
	mw_string_t type; /* name, for example "inuse_space" */
	mw_string_t unit; /* unit of the values, for example "bytes" */
} mw_value_type_t;

/* A file mapped into the profiled program. */
typedef struct mw_mapping {
	uint64_t start; /* first address, in the profiled program */
	uint64_t limit;
	uint64_t offset; /* offset in the file of the byte at `start` */
	/* Address in the program minus address in the ELF file; valid if bias_known. */
	uint64_t bias;
	/* Added to its addresses in formats that name no mapping for an address: not 0 if another
	 * mapping has the same addresses, because one was unloaded before. */
	uint64_t displacement;
	/* When the program was first seen to have the file loaded (CLOCK_REALTIME); 0 = not known.
	 */
	int64_t loaded_ns;
	mw_string_t path;
	mw_string_t build_id; /* lower-case hexadecimal; 0 = not known */
	bool is_unloaded;     /* the program was seen to have unloaded the file */
	bool bias_known;      /* false: `bias` has to be computed from the ELF file's segments */
	bool has_functions;   /* symbols were looked up already (has_functions of profile.proto) */
	bool has_filenames;
	bool has_line_numbers;
	bool has_inline_frames;
} mw_mapping_t;

typedef struct mw_function {
	mw_string_t name;        /* demangled name */
	mw_string_t system_name; /* name in the ELF file's symbol table (mangled) */
	mw_string_t file;        /* source file; 0 = not known */
	int64_t start_line;
} mw_function_t;

typedef struct mw_line {
	uint32_t function; /* index in profile->functions */
	int64_t line;      /* source line; 0 = not known */
} mw_line_t;

/* An address that occurs in stacks.  `address` is the address to look up: a return address minus
 * 1, which lies in the call instruction, or the exact PC of a frame that a signal interrupted. */
typedef struct mw_location {
	uint64_t address; /* address in the profiled program */
	uint32_t mapping; /* index in profile->mappings; 0 = not known */
	bool is_exact;    /* true: the exact PC, not a return address minus 1 */
	bool is_folded;   /* several functions share this code (is_folded of profile.proto) */
	/* Number of lines; 0 = no symbols.  The first line is the innermost inlined function. */
	uint32_t line_count;
	size_t line_first; /* index of the first line in profile->lines */
	/* Function of a location without symbols: named after its file and the start of its unwind
	 * range, "cc1plus@0xcb5000"; 0 = not known.  No line refers to it until
	 * mw_profile_name_ranges(). */
	uint32_t range_function;
} mw_location_t;

typedef struct mw_label {
	mw_string_t key;
	mw_string_t text; /* value of a text label; 0 = the label is a number */
	int64_t number;
	mw_string_t unit; /* unit of `number` */
} mw_label_t;

/* Path of the mapping of the kernel's code; perf has this name for it. */
#define MW_KERNEL_MAPPING "[kernel.kallsyms]"
/* Path of the mapping of the code that `mallow attach` has put into a process. */
#define MW_ATTACH_MAPPING "[mallow attach]"
/* The kernel's code has addresses from here on, and no program's has. */
#define MW_KERNEL_START (~UINT64_C(0) << 47)

/* Label with the number of bytes that the program requested for each object.  Only 0 is
 * recorded. */
#define MW_LABEL_REQUEST "request"
/* Labels of one sample's objects.  MW_LABEL_SIZE: size of each object in bytes, on memory in use
 * and on allocated memory.  MW_LABEL_THREAD and MW_LABEL_THREAD_ID: name and id of the
 * allocating thread, on memory in use.  MW_LABEL_AGE: age at the profile's time, on memory in
 * use.  MW_LABEL_LIFETIME: time between allocation and free, on freed memory.  Ages and
 * lifetimes are texts that name a power of ten. */
#define MW_LABEL_SIZE "bytes"
#define MW_LABEL_THREAD "thread"
#define MW_LABEL_THREAD_ID "thread_id"
/* Of samples of time: number of the processor; "running" or "waiting", of wall-clock time alone. */
#define MW_LABEL_PROCESSOR "cpu"
#define MW_LABEL_STATE "state"
#define MW_LABEL_LIFETIME "lifetime"
#define MW_LABEL_AGE "age"
/* These texts: [0] is less than 1 us, [i] begins at 10^(i-1) us. */
enum { MW_DECADES = 11 };
extern const char *const mw_decade_names[MW_DECADES];
/* Returns the number of such a text; -1: it is none. */
int mw_decade_of(const char *text);
/* Labels of leaked objects: "direct" or "indirect"; the times of the first and of the last
 * allocation (CLOCK_REALTIME, nanoseconds); the first bytes of one object, in hexadecimal. */
#define MW_LABEL_LEAK "leak"
#define MW_LABEL_OLDEST "oldest"
#define MW_LABEL_NEWEST "newest"
#define MW_LABEL_PEEK "peek"
/* Of blocks that are held: where the outermost frame is ("data", "stack", "registers"), and how
 * many frames next to it are of the block that leads there. */
#define MW_LABEL_HELD "held"
#define MW_LABEL_THROUGH "through"
/* Bounds of the objects' bytes in 95 of 100 cases. */
#define MW_LABEL_LEAST "least"
#define MW_LABEL_MOST "most"
/* Label of memory in use, in marks only: time of the allocation (CLOCK_REALTIME, nanoseconds). */
#define MW_LABEL_MADE "made"
/* Label of a single large block in use, where the caller asked for it: its address. */
#define MW_LABEL_ADDRESS "address"

typedef struct mw_sample {
	/* Index of the first frame in profile->frames; a frame is a location number, the leaf
	 * comes first. */
	size_t frame_first;
	size_t label_first; /* index of the first label in profile->labels */
	uint32_t depth;
	uint32_t label_count;
} mw_sample_t;

/* Parts of a process's resident memory.  MALLOC: blocks, free memory that is kept, and the
 * allocator's own.  MAPPED: the rest of what is of no file: mapped by the program itself, and in a
 * process that has ended also stacks and data of libraries.  UNEXPLAINED: what no counter explains.
 */
typedef enum mw_resident_part {
	MW_RESIDENT_MALLOC,
	MW_RESIDENT_MAPPED,
	MW_RESIDENT_FILES,
	MW_RESIDENT_SHARED, /* shared memory; 0 if it counts as files */
	MW_RESIDENT_STACKS,
	MW_RESIDENT_PROFILER, /* tables of the profiler, and the state file */
	MW_RESIDENT_UNEXPLAINED,
	MW_RESIDENT_PARTS,
} mw_resident_part_t;

/* What the resident memory of one process is used for. */
typedef struct mw_resident {
	uint64_t bytes;      /* 0 = not known */
	uint64_t most_bytes; /* most since the start of the process, at least `bytes` */
	uint64_t parts[MW_RESIDENT_PARTS]; /* their sum is `bytes` */
	/* true: of the moment with most memory, by counters in the state file; false: of now, by
	 * the kernel's list of mappings. */
	bool at_peak;
	uint64_t block_bytes;   /* bytes of blocks in use, resident or not */
	uint64_t touched_bytes; /* at most this many of them are resident */
	uint64_t swapped_bytes; /* 0 if at_peak */
	uint64_t threads;       /* 0 = not known */
} mw_resident_t;

/* Comment that a written profile gets if origin.killed is set, because profile.proto has no
 * field for the fact. */
#define MW_COMMENT_KILLED "end: killed"

/* Where the profile comes from.  A field is 0 if its value is not known. */
typedef struct mw_origin {
	mw_string_t program; /* base name of the executable */
	mw_string_t args;    /* command line, arguments separated by spaces */
	mw_string_t session; /* the process's option prof_session */
	mw_string_t version; /* version of the library that wrote the profile */
	mw_string_t source;  /* path of the file that was read */
	/* Name of the format for messages: "state file", "profile.proto", "jemalloc heap_v2",
	 * ... */
	mw_string_t format;
	uint32_t pid;
	uint32_t uid; /* effective user of the process, if uid_known */
	bool uid_known;
	uint32_t flags; /* MW_STATE_* flags of state/layout.h */
	/* true: the file says that nothing was freed; it stores what is in use only, and the same
	 * was allocated. */
	bool alloc_is_inuse;
	bool killed;           /* true: the process ended without calling exit(3) or _exit(2) */
	uint64_t live_samples; /* number of samples behind the in-use values; 0 = not known */
	uint64_t alloc_samples;
	/* How many times sampling was off; it was off for `off_ns` of `counted_ns`. */
	uint64_t stops;
	int64_t off_ns, counted_ns;
	/* Time of the profile that was subtracted, or from which on objects were made; 0 = not
	 * known, or neither. */
	int64_t base_time_ns;
	/* The process's peak minus the sum over the stacks, in bytes: memory that changed while
	 * the process recorded its stacks at the peak. */
	int64_t peak_gap_bytes;
	mw_resident_t resident; /* of the one process; bytes == 0 = not known */
} mw_origin_t;

typedef struct mw_profile {
	mw_value_type_t *types;
	size_t type_count;
	uint32_t default_type; /* index in `types` of the type that views show by default */

	mw_sample_t *samples;
	size_t sample_count;
	int64_t *values;  /* sample_count x type_count values, sample by sample */
	uint32_t *frames; /* location numbers of all stacks; see mw_sample_t */
	size_t frame_count;
	mw_label_t *labels;
	size_t label_count;

	/* Arrays with their counts.  The counts include entry 0. */
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

	/* Regular expressions of profile.proto; 0 = none.  A view removes functions that match
	 * drop_frames, with all frames that they call, except functions that match keep_frames. */
	mw_string_t drop_frames;
	mw_string_t keep_frames;

	mw_value_type_t period_type; /* unit of `period`: "space", "bytes" */
	int64_t period;              /* mean bytes between samples (T); 0 = not known */
	int64_t time_ns;             /* nanoseconds since 1970 */
	int64_t duration_ns;         /* nanoseconds that the profile covers; 0 = not known */
	mw_origin_t origin;
	mw_history_t history; /* growth of a single process's heap; empty = not known */

	struct mw_profile_index *index; /* hash tables, private to profile.c */
} mw_profile_t;

mw_profile_t *mw_profile_new(void);
void mw_profile_free(mw_profile_t *profile); /* NULL is allowed */

/* Interns `length` bytes, or the bytes before the first NUL if that is shorter. */
mw_string_t mw_profile_intern_bytes(mw_profile_t *profile, const char *text, size_t length);
mw_string_t mw_profile_intern(mw_profile_t *profile, const char *text);
/* Returns the text of a string, valid as long as the profile.  Never NULL: a number out of range
 * gives "". */
const char *mw_profile_string(const mw_profile_t *profile, mw_string_t string);
size_t mw_profile_string_count(const mw_profile_t *profile);

/* Adds a sample type and returns its index.  All types are added before the first sample. */
size_t mw_profile_add_type(mw_profile_t *profile, const char *type, const char *unit);
/* Adds the four types of a heap profile, in pprof's order: alloc_objects, alloc_space,
 * inuse_objects and inuse_space (the default).  Samples are taken by space in bytes. */
void mw_profile_add_heap_types(mw_profile_t *profile);
/* Adds the types that only state files have, after the four of a heap profile.
 * peak_objects, peak_space: memory in use at the peak.
 * alloc_requested, inuse_requested: bytes that the program asked for.
 * alloc_samples, inuse_samples: number of samples behind the estimates.
 * freed_objects: freed objects; freed_elsewhere counts the objects that another thread freed,
 * temporary_objects those that were freed before their thread allocated again; lifetime is the
 * sum of all freed objects' lifetimes.
 * pinned_space: free bytes in pages that cannot be returned to the system because they hold
 * memory in use (only in profiles split by page). */
void mw_profile_add_state_types(mw_profile_t *profile);
/* Adds the types of memory that the program mapped itself, after those of state files.
 * alloc_mappings, alloc_mapped: number and bytes of mappings that the program made; inuse_mappings,
 * inuse_mapped: those that are left. */
void mw_profile_add_mapping_types(mw_profile_t *profile);
/* Returns the index of the type with this name, or -1. */
int mw_profile_find_type(const mw_profile_t *profile, const char *type);
/* Returns whether the type is of samples of CPU time, wall-clock time or events. */
bool mw_profile_is_cpu_type(const mw_profile_t *profile, size_t type);
/* Returns the first one of these, or -1. */
int mw_profile_cpu_type(const mw_profile_t *profile);

/* Each function returns the number of the entry: an existing number if an equal entry exists. */
uint32_t mw_profile_add_mapping(mw_profile_t *profile, const mw_mapping_t *mapping);
/* All of the kernel's code is one mapping. */
uint32_t mw_profile_add_kernel_mapping(mw_profile_t *profile);
uint32_t mw_profile_add_function(mw_profile_t *profile, const mw_function_t *function);
uint32_t mw_profile_add_location(mw_profile_t *profile, uint32_t mapping, uint64_t address,
				 bool is_exact);
/* Each function adds a new entry even if an equal one exists, for readers of files whose entries
 * are numbered already. */
uint32_t mw_profile_append_mapping(mw_profile_t *profile, const mw_mapping_t *mapping);
uint32_t mw_profile_append_function(mw_profile_t *profile, const mw_function_t *function);
uint32_t mw_profile_append_location(mw_profile_t *profile, uint32_t mapping, uint64_t address,
				    bool is_exact);
/* Replaces the lines of a location. lines[0] is the innermost inlined function. */
void mw_profile_set_lines(mw_profile_t *profile, uint32_t location, const mw_line_t *lines,
			  size_t count);
/* Gives locations without symbols the names of their ranges, for people: code of one function then
 * has one name.  Profiles that are written keep such locations without a name, so that readers can
 * look it up. */
void mw_profile_name_ranges(mw_profile_t *profile);
/* True if the function is a range without a name. */
bool mw_function_is_range(const mw_profile_t *profile, uint32_t function);
/* Returns the number of the mapping that holds `address`, or 0. */
uint32_t mw_profile_find_mapping(mw_profile_t *profile, uint64_t address);

/* Adds a sample.  `values` holds type_count numbers.  All arguments are copied. */
void mw_profile_add_sample(mw_profile_t *profile, const uint32_t *locations, size_t depth,
			   const int64_t *values, const mw_label_t *labels, size_t label_count);
/* Replaces the stack of a sample. */
void mw_profile_set_frames(mw_profile_t *profile, size_t sample, const uint32_t *locations,
			   size_t depth);
void mw_profile_add_comment(mw_profile_t *profile, const char *text);

/* Sets origin.resident, with a comment that a written profile keeps if it is at_peak. */
void mw_profile_set_resident(mw_profile_t *profile, const mw_resident_t *resident);
/* Parses such a comment.  False: the text is none, or its parts do not add up. */
bool mw_resident_of_comment(const char *text, mw_resident_t *out);

/* Overwrites sample number `to` by sample number `from`, with its values.  Code that drops samples
 * moves those it keeps forward, in order; then it sets sample_count. */
void mw_profile_move_sample(mw_profile_t *profile, size_t to, size_t from);

/* Returns the values of sample `i`: type_count numbers. */
static inline const int64_t *mw_profile_values(const mw_profile_t *profile, size_t i) {
	return profile->values + i * profile->type_count;
}

/* Number of frames that a location is shown as: one for each of its lines, or one if it has
 * none. */
static inline uint32_t mw_location_frames(const mw_location_t *location) {
	return location->line_count > 0 ? location->line_count : 1;
}

/* Line of the k-th frame of a location, from the innermost; NULL = no line is known. */
static inline const mw_line_t *mw_location_line(const mw_profile_t *profile,
						const mw_location_t *location, uint32_t k) {
	return location->line_count > 0 ? &profile->lines[location->line_first + k] : NULL;
}

/* True if a mapping with this path stands for the functions of scripts: "[python]" and others. */
bool mw_is_script_module(const char *path);

/* True if the sample's label says that the program requested 0 bytes for each object. */
bool mw_profile_is_zero_request(const mw_profile_t *profile, const mw_sample_t *sample);

/* True if two samples have equal frames.  Readers place samples that differ only in labels next
 * to each other. */
bool mw_profile_same_stack(const mw_profile_t *profile, size_t a, size_t b);
/* Returns the first label of a sample with this key (MW_LABEL_SIZE, ...); NULL: it has none. */
const mw_label_t *mw_profile_label(const mw_profile_t *profile, size_t sample, const char *key);

/* Returns whether the location is a frame of a script, by its mapping. */
bool mw_profile_is_script(const mw_profile_t *profile, uint32_t location);

/* Sum of one type over all samples, capped at the limits of int64_t. */
int64_t mw_profile_total(const mw_profile_t *profile, size_t type);

#endif
