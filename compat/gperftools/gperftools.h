/* SPDX-License-Identifier: MIT
 * gperftools.h -- functions that the sources of gperftools' interface share, and functions whose
 * public headers are for C++ alone.
 * Layer: compat/gperftools, the door of this folder. Names of gperftools on top of the table of
 * api/compat/compat_calls.h; no other folder knows them. The folder is a library of its own,
 * libgperftools_mallow.so, which the filters libtcmalloc*.so.4 stand for. names.def lists the
 * names. Allocations of these functions are not recorded in profiles.
 *
 * Here: what every part uses. profile/ holds the heap profiler, hooks and stacks, checker/ the leak
 * checker, extension/ the class MallocExtension and the start of the process. debug/ and cpu/ are
 * libraries of their own: the checked heap of libtcmalloc_debug, and libprofiler. Reading order:
 * variables.h, new.c (operators, version), gperftools.c, stats.c (figures and GetStats),
 * heap_walk.h; profile/; checker/; extension/; debug/; cpu/. */
#ifndef MW_COMPAT_GPERFTOOLS_GPERFTOOLS_H
#define MW_COMPAT_GPERFTOOLS_GPERFTOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/compat/compat_calls.h"
#include "base/compiler.h"

MW_EXPORT int tc_set_new_mode(int flag);
MW_EXPORT int tc_query_new_mode(void);
/* The last argument is a reference to std::nothrow. */
MW_EXPORT void *tc_new_nothrow(size_t bytes, const void *nothrow);
MW_EXPORT void *tc_newarray_nothrow(size_t bytes, const void *nothrow);
MW_EXPORT void *tc_new_aligned_nothrow(size_t bytes, size_t align, const void *nothrow);
MW_EXPORT void *tc_newarray_aligned_nothrow(size_t bytes, size_t align, const void *nothrow);

/* Returns libmallow's functions. Ends the program if libmallow is of another version. */
const mw_compat_calls_t *mw_gp_calls(void);

/* The heap in tcmalloc's terms, in bytes where not said otherwise. */
typedef struct mw_gp_figures {
	uint64_t in_use;        /* blocks of the program */
	uint64_t page_heap;     /* free slices and kept mappings whose memory is resident */
	uint64_t unmapped;      /* address space whose memory was given back or never used */
	uint64_t central_cache; /* rest of pages in use: free blocks, page ends */
	uint64_t thread_cache;  /* the calling thread's lists */
	uint64_t metadata;
	uint64_t system;         /* address space of the heap */
	uint64_t physical;       /* memory in use, with metadata */
	uint64_t spans, threads; /* numbers */
	uint64_t purged;         /* given back since the start */
	uint64_t takes;          /* pages taken since the start: number */
	uint64_t chunks;         /* number */
} mw_gp_figures_t;
void mw_gp_figures(mw_gp_figures_t *figures);
/* Writes GetStats' text. `detailed`: with free lists by size. */
void mw_gp_stats_text(char *buffer, size_t capacity, bool detailed);

#endif
