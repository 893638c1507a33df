/* SPDX-License-Identifier: MIT
 * formats.h -- the readers of the single formats, of bytes in memory.
 * Layer: tools/read.  Private to this folder.  mw_is_...() tells a format by its first bytes;
 * mw_read_...() fills an empty profile.  `bytes` is followed by a NUL; `name` is for messages. */
#ifndef MW_TOOL_READ_FORMATS_H
#define MW_TOOL_READ_FORMATS_H

#include <stdbool.h>
#include <stddef.h>

#include "model/error.h"
#include "model/profile.h"

/* The most entries of a kind (samples, locations, ...) a profile may have. */
#define MW_READ_ENTRIES_MAX ((size_t)1 << 25)
/* The deepest stack: eight times what any profiler here records. */
#define MW_READ_DEPTH_MAX ((size_t)1 << 15)

/* profile.proto; whatever is nothing else. */
int mw_read_proto(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		  mw_error_t *error);

/* jemalloc's heap_v2 and gperftools' "heap profile:". */
bool mw_is_heap_text(const char *bytes, size_t length);
int mw_read_heap_text(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		      mw_error_t *error);

/* gperftools' CPU profiles, of machines of either byte order and word size. */
bool mw_is_cpu(const char *bytes, size_t length);
int mw_read_cpu(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		mw_error_t *error);

/* Contention of locks, as gperftools' and Go's servers write it. */
bool mw_is_contention(const char *bytes, size_t length);
int mw_read_contention(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		       mw_error_t *error);

/* Go's counts of stacks as text: "goroutine profile: total 7". */
bool mw_is_go_count(const char *bytes, size_t length);
int mw_read_go_count(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		     mw_error_t *error);

/* "--- symbol": names, and a profile of another format behind them (jeprof --raw). */
bool mw_is_symbolized(const char *bytes, size_t length);
int mw_read_symbolized(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		       mw_error_t *error);

/* jemalloc's prof_log and prof_recent, JSON. */
bool mw_is_allocation_log(const char *bytes, size_t length);
int mw_read_allocation_log(mw_profile_t *profile, const char *name, const char *bytes,
			   size_t length, mw_error_t *error);

/* Stacks folded to a line: "outermost;inner;leaf 12". */
bool mw_is_folded(const char *bytes, size_t length);
int mw_read_folded(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		   mw_error_t *error);

/* What heaptrack records, and valgrind's massif. */
bool mw_is_heaptrack(const char *bytes, size_t length);
int mw_read_heaptrack(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		      mw_error_t *error);
bool mw_is_massif(const char *bytes, size_t length);
int mw_read_massif(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		   mw_error_t *error);

/* Any of these, not compressed. */
int mw_read_plain(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		  mw_error_t *error);

/* Scales sums of sampled objects up to those of all: by 1/(1 - exp(-(bytes / objects) / R)).
 * `mean_bytes` is R; 0: nothing is left out. */
void mw_unsample(double mean_bytes, int64_t *objects, int64_t *bytes);

#endif
