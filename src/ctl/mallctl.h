/* SPDX-License-Identifier: MIT
 * mallctl.h -- jemalloc's tree of control names.
 * Layer: ctl.  Results are numbers of <errno.h>, as jemalloc's.  Nothing is allocated; one lock
 * (MW_RANK_CTL) is held while statistics are taken; not for signal handlers.
 *
 * A MIB has an element for each part of its name: an index stands for itself, the first part for
 * the name's row, the others are 0. */
#ifndef MW_CTL_MALLCTL_H
#define MW_CTL_MALLCTL_H

#include <stddef.h>
#include <stdint.h>

#include "ctl/options.h"

#define MW_CTL_PARTS_MAX 7u
/* Indices that jemalloc's header names. */
#define MW_CTL_ARENAS_ALL 4096u
#define MW_CTL_ARENAS_DESTROYED 4097u
/* So many tcaches can be made. */
#define MW_CTL_TCACHES_MAX 4094u

/* What rows of mallctl.def speak of; both stay the caller's, for the life of the process. */
void mw_mallctl_start(const mw_options_t *options, const mw_conf_sources_t *sources);

/* Begins what options ask for: log, recent allocations, sums.  After the profiler has started. */
void mw_mallctl_start_watching(void);

int mw_mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length);
int mw_mallctl_by_mib(const size_t *mib, size_t parts, void *old, size_t *old_length, void *new,
		      size_t new_length);
/* *parts: room in `mib`, then its length. */
int mw_mallctl_name_to_mib(const char *name, size_t *mib, size_t *parts);

/* mallocx(), for what allocates by a name; set before it is used. */
extern void *(*mw_mallctl_allocate)(size_t bytes, int flags);

/* Takes the statistics anew, as a write to "epoch". */
void mw_mallctl_refresh(void);

/* fork(2): before and after the locks of all other layers. */
void mw_mallctl_fork_prepare(void);
void mw_mallctl_fork_release(bool in_child);

/* The rows, for whoever lists them: NULL behind the last. */
const char *mw_mallctl_name(size_t row);
typedef enum mw_mallctl_type {
	MW_MALLCTL_FLAG,
	MW_MALLCTL_NUMBER,
	MW_MALLCTL_SIGNED,
	MW_MALLCTL_FIXED, /* 16 bits behind the point; all ones: none */
	MW_MALLCTL_TEXT,
	MW_MALLCTL_OTHER,
} mw_mallctl_type_t;
typedef struct mw_mallctl_row {
	mw_mallctl_type_t type;
	bool readable; /* as one value of `bytes` */
	size_t bytes;
	size_t parts; /* of its name */
} mw_mallctl_row_t;
mw_mallctl_row_t mw_mallctl_row(size_t row);
/* The size of free extents that the statistics show under this number. */
uint64_t mw_mallctl_extent_bytes(size_t i);

#endif
