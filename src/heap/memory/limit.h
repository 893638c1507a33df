/* SPDX-License-Identifier: MIT
 * limit.h -- a soft and a hard limit on the bytes of the heap's pages and large blocks.
 * Layer: heap.  No lock.  Asked where pages and huge blocks are taken, never for a block of a page;
 * without a limit that is one load.
 *
 * Soft: whoever takes memory beyond it has free memory given back first; what is live beyond it is
 * told through the hook `pressed`, once until a tenth has fallen free again.  Hard: what would go
 * beyond it is refused, as if the kernel had. */
#ifndef MW_HEAP_LIMIT_H
#define MW_HEAP_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* SIZE_MAX: no limit.  Any thread, at any time.  What passes the new limits is told anew. */
void mw_limit_set(size_t soft_bytes, size_t hard_bytes);

/* The smaller of both limits. */
extern _Atomic size_t mw_limit_watch_bytes;
bool mw_limit_begin_slow(size_t bytes);
void mw_limit_end_slow(size_t bytes);

static inline bool mw_limit_is_set(void) {
	/* Relaxed: a limit that is just being set may come too late for a request. */
	return MW_UNLIKELY(atomic_load_explicit(&mw_limit_watch_bytes, memory_order_relaxed) !=
			   SIZE_MAX);
}

/* May so many more be taken?  If so, *counted says whether they count as taken until
 * mw_limit_end(), which follows when mw_heap_in_use_bytes() holds them or they could not be had.
 * No lock of rank MW_RANK_HUGE or above is held. */
static inline bool mw_limit_begin(size_t bytes, bool *counted) {
	*counted = mw_limit_is_set();
	return !*counted || mw_limit_begin_slow(bytes);
}
static inline void mw_limit_end(size_t bytes, bool counted) {
	if (MW_UNLIKELY(counted))
		mw_limit_end_slow(bytes);
}

/* What other threads had begun at the fork is void in the child. */
void mw_limit_fork_child(void);

typedef struct mw_limit_stats {
	size_t soft_bytes, hard_bytes; /* 0: none */
	size_t soft_passes, hard_refusals;
} mw_limit_stats_t;
void mw_limit_stats(mw_limit_stats_t *stats);

/* Calls the hook for what happened since the last call.  No lock is held. */
extern _Atomic unsigned mw_limit_untold;
void mw_limit_tell_slow(void);
static inline void mw_limit_tell(void) {
	if (MW_UNLIKELY(atomic_load_explicit(&mw_limit_untold, memory_order_relaxed) != 0))
		mw_limit_tell_slow();
}

#endif
