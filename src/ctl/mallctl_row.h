/* SPDX-License-Identifier: MIT
 * mallctl_row.h -- what the rows of mallctl.def and the functions behind them share.
 * Layer: ctl. */
#ifndef MW_CTL_MALLCTL_ROW_H
#define MW_CTL_MALLCTL_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/size_class.h"

typedef struct mw_ctl_call {
	const size_t *mib;
	uint64_t argument;
	bool writing;
	uint64_t value; /* written; on return what is read: as a rule, what it was before */
	/* As the program passed them, for RAW and MAKE. */
	void *old, *new;
	size_t *old_length;
	size_t new_length;
} mw_ctl_call_t;

/* 0 or a number of <errno.h>. */
typedef int mw_ctl_handler_t(mw_ctl_call_t *call);

#define MW_CTL(name, type, access, kind, handler, argument) mw_ctl_handler_t mw_ctl_at_##handler;
#define MW_CTL_MUTEX(prefix, handler)
#include "ctl/mallctl.def"
#undef MW_CTL
#undef MW_CTL_MUTEX

typedef struct mw_ctl_class {
	uint64_t nmalloc, ndalloc, curregs, curslabs;
} mw_ctl_class_t;

/* As of the last "epoch". */
typedef struct mw_ctl_stats {
	uint64_t allocated, active, metadata, metadata_edata, resident, mapped, retained;
	uint64_t pactive, pdirty, purged_pages, threads, uptime_ns, background_threads;
	uint64_t small_allocated, small_nmalloc, small_ndalloc;
	uint64_t large_allocated, large_nmalloc, large_ndalloc;
	mw_ctl_class_t classes[MW_CLASS_COUNT];
} mw_ctl_stats_t;

#define MW_CTL_STAT(field) offsetof(mw_ctl_stats_t, field)
#define MW_CTL_BIN_STAT(field) offsetof(mw_ctl_class_t, field)
#define MW_CTL_WORDS(text) ((uintptr_t)(text))

/* jemalloc's large classes above the small limit: four a doubling, from 80 KiB to 7 EiB. */
#define MW_CTL_LEXTENTS 187u
#define MW_CTL_LARGE_MAX ((size_t)2 << 20)
#define MW_CTL_HUGE_PAGE ((size_t)2 << 20)
/* Which figure of a size class. */
enum { MW_CTL_BIN_SIZE, MW_CTL_BIN_NREGS, MW_CTL_BIN_SLAB, MW_CTL_BIN_SHARDS };

/* What arena "i" of a name is: nothing, one without memory of its own, or the heap. */
typedef enum mw_ctl_arena { MW_CTL_NO_ARENA, MW_CTL_EMPTY_ARENA, MW_CTL_HEAP } mw_ctl_arena_t;
mw_ctl_arena_t mw_ctl_arena_of(size_t index);

#endif
