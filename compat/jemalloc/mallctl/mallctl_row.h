/* SPDX-License-Identifier: MIT
 * mallctl_row.h -- types that the rows of mallctl.def and their functions share.
 * Layer: compat/jemalloc/mallctl. */
#ifndef MW_COMPAT_JEMALLOC_MALLCTL_MALLCTL_ROW_H
#define MW_COMPAT_JEMALLOC_MALLCTL_MALLCTL_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/options.h"
#include "heap/layout/size_class.h"
#include "os/lock/lock.h"

typedef struct mw_ctl_call {
	const size_t *mib;
	uint64_t argument;
	bool writing;
	uint64_t value; /* in: the value to write; out: the value to read, mostly the value before
			   the write */
	/* Pointers that the program passed, for RAW and MAKE. */
	void *old, *new;
	size_t *old_length;
	size_t new_length;
} mw_ctl_call_t;

/* Result: 0 or a number of <errno.h>. */
typedef int mw_ctl_handler_t(mw_ctl_call_t *call);

#define MW_CTL(name, type, access, kind, handler, argument) mw_ctl_handler_t mw_ctl_at_##handler;
#define MW_CTL_MUTEX(prefix, handler, argument)
#define MW_CTL_ENTERED_MUTEX(prefix, handler, argument)
#define MW_CTL_NO_MUTEX(prefix, handler)
#include "compat/jemalloc/mallctl/mallctl.def"
#undef MW_CTL
#undef MW_CTL_MUTEX
#undef MW_CTL_ENTERED_MUTEX
#undef MW_CTL_NO_MUTEX

/* Returns the size in bytes of the large class `i`, below MW_CTL_LEXTENTS. */
uint64_t mw_ctl_lextent_bytes(size_t i);
/* Returns the options; NULL before start-up has read them. */
const mw_options_t *mw_ctl_options(void);
/* Returns the lock of the sums of samples by size class. */
mw_lock_t *mw_ctl_sums_lock(void);

/* Each field is one word. Rows find a field by its offset. */
typedef struct mw_ctl_class {
	uint64_t nmalloc, ndalloc, curregs, curslabs, nonfull_slabs;
	uint64_t nfills, nflushes, nslabs, nreslabs;
	mw_lock_stats_t lock; /* lock of the pages of ended threads */
} mw_ctl_class_t;

typedef struct mw_ctl_lextent {
	uint64_t nmalloc, ndalloc, curlextents;
} mw_ctl_lextent_t;

typedef struct mw_ctl_extent {
	uint64_t ndirty, nmuzzy, npinned, nretained;
	uint64_t dirty_bytes, muzzy_bytes, pinned_bytes, retained_bytes;
} mw_ctl_extent_t;

/* jemalloc's large classes above the small limit: four per doubling, from 80 KiB to 7 EiB. */
#define MW_CTL_LEXTENTS 187u
/* jemalloc's sizes of free extents: 4, 8, 12, 16 KiB, then four per doubling. */
#define MW_CTL_EXTENTS 199u
/* jemalloc's size steps of huge page slabs. */
#define MW_CTL_SLABS 64u

/* Locks that have statistics under one of jemalloc's names. */
typedef enum mw_ctl_lock {
	MW_CTL_LOCK_CTL,
	MW_CTL_LOCK_CONTROL,
	MW_CTL_LOCK_HUGE,
	MW_CTL_LOCK_CHUNKS,
	MW_CTL_LOCK_META,
	MW_CTL_LOCK_THREADS,
	MW_CTL_LOCK_SAMPLES, /* locks of all size classes together */
	MW_CTL_LOCK_DUMP,
	MW_CTL_LOCK_RECENT,
	MW_CTL_LOCK_SUMS,
	MW_CTL_LOCKS,
} mw_ctl_lock_t;

/* Aligned 2 MiB parts of chunks: without huge pages, and with them, as far as the kernel provides
 * the huge pages that it agreed to. */
typedef struct mw_ctl_slabs {
	uint64_t count[2];
	uint64_t active_pages[2], dirty_pages[2];
} mw_ctl_slabs_t;

/* Statistics at the last "epoch". */
typedef struct mw_ctl_stats {
	uint64_t allocated, active, metadata, metadata_edata, resident, mapped, retained;
	uint64_t pactive, pdirty, purged_pages, purges, purge_calls, threads, uptime_ns;
	uint64_t pmuzzy, muzzy_purged_pages, muzzy_purges, muzzy_purge_calls, pinned;
	uint64_t background_threads, background_runs, background_interval_ns;
	uint64_t small_allocated, small_nmalloc, small_ndalloc, small_nfills, small_nflushes;
	uint64_t large_allocated, large_nmalloc, large_ndalloc;
	mw_ctl_class_t classes[MW_CLASS_COUNT];
	/* Statistics up to here are known for each explicit arena. */
	mw_lock_stats_t locks[MW_CTL_LOCKS];
	/* Statistics from here on are known for all arenas together only. */
	mw_ctl_lextent_t lextents[MW_CTL_LEXTENTS];
	mw_ctl_extent_t extents[MW_CTL_EXTENTS];
	/* Chunks on huge pages: each begins with the descriptors of its slices. */
	uint64_t metadata_huge_pages;
	uint64_t free_slices; /* free slices, whose descriptors are unused */
	uint64_t slab_count, slab_active_pages, slab_dirty_pages;
	uint64_t slab_purges, slabs_purged, slabs_refused;
	mw_ctl_slabs_t slabs, full_slabs, empty_slabs;
	mw_ctl_slabs_t nonfull_slabs[MW_CTL_SLABS]; /* by their longest free run, with the sizes of
						       extents */
} mw_ctl_stats_t;

/* Returns the number of the largest extent size that is at most `bytes`. */
unsigned mw_ctl_extent_of(uint64_t bytes);
/* Fills in the statistics of slabs. */
void mw_ctl_see_slabs(mw_ctl_stats_t *stats);

#define MW_CTL_STAT(field) offsetof(mw_ctl_stats_t, field)
#define MW_CTL_BIN_STAT(field) offsetof(mw_ctl_class_t, field)
#define MW_CTL_LOCK_STAT(name) (MW_CTL_STAT(locks) + MW_CTL_LOCK_##name * sizeof(mw_lock_stats_t))
#define MW_CTL_LEXTENT_STAT(field) offsetof(mw_ctl_lextent_t, field)
#define MW_CTL_EXTENT_STAT(field) offsetof(mw_ctl_extent_t, field)
#define MW_CTL_SLAB_STAT(field) offsetof(mw_ctl_slabs_t, field)
#define MW_CTL_OPTION(name) offsetof(mw_options_t, name)
#define MW_CTL_WORDS(text) ((uintptr_t)(text))

#define MW_CTL_LARGE_MAX ((size_t)2 << 20)
#define MW_CTL_HUGE_PAGE ((size_t)2 << 20)
/* Which figure of a size class a row reads. */
enum { MW_CTL_BIN_SIZE, MW_CTL_BIN_NREGS, MW_CTL_BIN_SLAB, MW_CTL_BIN_SHARDS };

/* Meaning of the index of a name: no arena, an explicit arena, arena 0 (all other memory), all
 * arenas, or the destroyed ones. */
typedef enum mw_ctl_arena {
	MW_CTL_NO_ARENA,
	MW_CTL_MADE_ARENA,
	MW_CTL_ARENA_0,
	MW_CTL_ALL_ARENAS,
	MW_CTL_DESTROYED_ARENAS,
} mw_ctl_arena_t;
mw_ctl_arena_t mw_ctl_arena_of(size_t index);

/* Keeps the counters of an arena that is about to be destroyed. */
struct mw_arena;
void mw_ctl_count_destroyed(const struct mw_arena *arena);
bool mw_ctl_any_destroyed(void);

#endif
