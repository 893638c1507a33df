/* SPDX-License-Identifier: MIT
 * text_formats.h -- readers and writers of line-oriented profile formats, and the reader of
 * gperftools' binary CPU profiles.
 * Layer: formats/text.  The folder's door.  The readers share lines.h.  A file has the name of
 * its format.
 * To add a format: a file here, a declaration here, a row in formats/read.c. mw_is_...()
 * recognises a format by its first bytes. mw_read_...() fills in an empty profile.  `bytes` is
 * followed by a NUL; `name` appears in messages. */
#ifndef MW_TOOL_FORMATS_TEXT_TEXT_FORMATS_H
#define MW_TOOL_FORMATS_TEXT_TEXT_FORMATS_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/file/output.h"
#include "model/error.h"
#include "model/profile.h"

/* Type of a function that fills in an empty profile from bytes of any uncompressed format. */
typedef int mw_read_bytes_t(mw_profile_t *profile, const char *name, const char *bytes,
			    size_t length, mw_error_t *error);

/* jemalloc's heap_v2 and gperftools' "heap profile:". */
bool mw_is_heap_text(const char *bytes, size_t length);
int mw_read_heap_text(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		      mw_error_t *error);

/* gperftools' CPU profiles from machines of either byte order and word size. */
bool mw_is_cpu(const char *bytes, size_t length);
int mw_read_cpu(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		mw_error_t *error);

/* Contention profiles of gperftools' and Go's servers. */
bool mw_is_contention(const char *bytes, size_t length);
int mw_read_contention(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		       mw_error_t *error);

/* Go's profiles that count stacks: "goroutine profile: total 7". */
bool mw_is_go_count(const char *bytes, size_t length);
int mw_read_go_count(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		     mw_error_t *error);

/* "--- symbol": a table of names, then a profile of another format (jeprof --raw), which
 * `read_rest` reads. */
bool mw_is_symbolized(const char *bytes, size_t length);
int mw_read_symbolized(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		       mw_read_bytes_t *read_rest, mw_error_t *error);

/* jemalloc's prof_log and prof_recent (JSON). */
bool mw_is_allocation_log(const char *bytes, size_t length);
int mw_read_allocation_log(mw_profile_t *profile, const char *name, const char *bytes,
			   size_t length, mw_error_t *error);

/* Folded stacks: "outermost;inner;leaf 12". */
bool mw_is_folded(const char *bytes, size_t length);
int mw_read_folded(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		   mw_error_t *error);

/* Files of heaptrack and of valgrind's massif. */
bool mw_is_heaptrack(const char *bytes, size_t length);
int mw_read_heaptrack(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		      mw_error_t *error);
bool mw_is_massif(const char *bytes, size_t length);
int mw_read_massif(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		   mw_error_t *error);

/* Scales sums over sampled objects up to sums over all objects, by 1/(1 - exp(-(bytes / objects)
 * / R)).  `mean_bytes` is R; 0 = every object was recorded, so the sums stay. */
void mw_unsample(double mean_bytes, int64_t *objects, int64_t *bytes);

/* Indices of the sample types that the text formats can hold; -1 = the profile has no such type. */
typedef struct mw_heap_types {
	int inuse_objects;
	int inuse_space;
	int alloc_objects;
	int alloc_space;
} mw_heap_types_t;

/* Returns a location's address in a format that names no mapping for an address. */
static inline uint64_t mw_text_address(const mw_profile_t *profile, uint32_t location) {
	const mw_location_t *l = &profile->locations[location];
	return l->address + profile->mappings[l->mapping].displacement;
}

/* Each function writes a profile.  Write errors are kept in `output`. */
void mw_write_heap_v2(const mw_profile_t *profile, const mw_heap_types_t *types,
		      mw_output_t *output);
void mw_write_symbolized(const mw_profile_t *profile, const mw_heap_types_t *types,
			 mw_output_t *output);
void mw_write_gperftools(const mw_profile_t *profile, const mw_heap_types_t *types,
			 mw_output_t *output);
/* Memory in use as what made the heap grow: gperftools' "growth". */
void mw_write_growth(const mw_profile_t *profile, const mw_heap_types_t *types,
		     mw_output_t *output);
/* gperftools' CPU profile of a type in nanoseconds. */
void mw_write_cpu(const mw_profile_t *profile, size_t type, mw_output_t *output);
/* The profile's mappings as lines of /proc/<pid>/maps, with the addresses that
 * mw_text_address() returns. */
void mw_write_maps(const mw_profile_t *profile, mw_output_t *output);

#endif
