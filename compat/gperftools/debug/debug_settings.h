/* SPDX-License-Identifier: MIT
 * debug_settings.h -- variables of the environment that libtcmalloc_debug reads, once. */
#ifndef MW_COMPAT_GPERFTOOLS_DEBUG_SETTINGS_H
#define MW_COMPAT_GPERFTOOLS_DEBUG_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct mw_gpd_settings {
	bool page_fence;               /* TCMALLOC_PAGE_FENCE */
	bool page_fence_never_reclaim; /* TCMALLOC_PAGE_FENCE_NEVER_RECLAIM */
	bool page_fence_readable;      /* TCMALLOC_PAGE_FENCE_READABLE */
	bool reclaim;                  /* TCMALLOC_RECLAIM_MEMORY: freed memory is used again */
	bool names;                    /* TCMALLOC_SYMBOLIZE_STACKTRACE: stacks with names */
	size_t queue_max_bytes;        /* TCMALLOC_MAX_FREE_QUEUE_SIZE: bytes of freed blocks */
	int trace_file;                /* TCMALLOC_TRACE, TCMALLOC_TRACE_FILE; -1: no trace */
} mw_gpd_settings_t;

/* Any thread.  Before libc has the environment, returns the defaults. */
const mw_gpd_settings_t *mw_gpd_settings(void);

#endif
