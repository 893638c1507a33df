/* SPDX-License-Identifier: MIT
 * limit.h -- a soft and a hard limit on the bytes of the heap's pages and large blocks.
 * Layer: heap.  No lock.  Checked where pages and huge blocks are taken, never for a block of a
 * page; without a limit the check is one load.
 *
 * Soft limit: a request beyond it first gives free memory back to the kernel.  If the live memory
 * is beyond it, the hook `pressed` is called, once until a tenth has fallen free again.  Hard
 * limit: a request beyond it is refused, as if the kernel had refused. */
#ifndef MW_HEAP_LIMIT_H
#define MW_HEAP_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* Sets both limits; SIZE_MAX: no limit.  Any thread, at any time.  The hook is called for each new
 * limit that is passed. */
void mw_limit_set(size_t soft_bytes, size_t hard_bytes);

/* The smaller of both limits. */
extern _Atomic size_t mw_limit_watch_bytes;
bool mw_limit_begin_slow(size_t bytes);
void mw_limit_end_slow(size_t bytes);

static inline bool mw_limit_is_set(void) {
	/* Relaxed: a limit that is being set may come too late for a request. */
	return MW_UNLIKELY(atomic_load_explicit(&mw_limit_watch_bytes, memory_order_relaxed) !=
			   SIZE_MAX);
}

/* Returns whether `bytes` more may be taken.  If so, *counted says whether they count as taken
 * until mw_limit_end(), which the caller calls when mw_heap_in_use_bytes() includes them or they
 * could not be had.  The caller holds no lock of rank MW_RANK_HUGE or above. */
static inline bool mw_limit_begin(size_t bytes, bool *counted) {
	*counted = mw_limit_is_set();
	return !*counted || mw_limit_begin_slow(bytes);
}
static inline void mw_limit_end(size_t bytes, bool counted) {
	if (MW_UNLIKELY(counted))
		mw_limit_end_slow(bytes);
}

/* Called in the child of a fork: drops requests that other threads had begun. */
void mw_limit_fork_child(void);

typedef struct mw_limit_stats {
	size_t soft_bytes, hard_bytes; /* 0: no limit */
	size_t soft_passes, hard_refusals;
} mw_limit_stats_t;
void mw_limit_stats(mw_limit_stats_t *stats);

typedef enum mw_pressure { MW_PRESSURE_SOFT, MW_PRESSURE_HARD, MW_PRESSURE_COUNT } mw_pressure_t;
/* Called for a limit that was passed: see heap/sample/hooks.h. */
typedef void mw_limit_reported_t(mw_pressure_t pressure, size_t wanted_bytes, size_t limit_bytes);

/* Calls `report` for each limit that was passed since the last call.  No lock is held. */
extern _Atomic unsigned mw_limit_unreported;
void mw_limit_report_slow(mw_limit_reported_t *report);
static inline void mw_limit_report(mw_limit_reported_t *report) {
	if (MW_UNLIKELY(atomic_load_explicit(&mw_limit_unreported, memory_order_relaxed) != 0))
		mw_limit_report_slow(report);
}

/* Hooks, which heap/large defines.  Only the purge takes a lock. */
/* Bytes in use: pages and large blocks that threads have, huge blocks, arenas. */
MW_HOOK size_t mw_heap_in_use_bytes(void);
/* Bytes of live huge blocks, and of their freed mappings that are kept for reuse. */
MW_HOOK size_t mw_huge_live_bytes(void);
MW_HOOK size_t mw_huge_cached_bytes(void);
/* Unmaps kept mappings whose time has come, or all.  Returns the bytes. */
MW_HOOK size_t mw_huge_purge(bool all);

#endif
