/* SPDX-License-Identifier: MIT
 * recent.h -- jemalloc's prof_recent: the last sampled allocations, with their frees.
 * Layer: prof.  A ring; written in the caller's turn (gate.h), read by anybody.  Its size changes
 * with the gate closed. */
#ifndef MW_PROF_RECENT_H
#define MW_PROF_RECENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "os/lock.h"
#include "prof/out.h"
#include "prof/records.h"

/* More is kept as this many. */
#define MW_RECENT_MAX ((int64_t)1 << 20)

extern _Atomic int64_t mw_recent_max;

static inline bool mw_recent_is_on(void) {
	return __builtin_expect(atomic_load_explicit(&mw_recent_max, memory_order_relaxed) != 0, 0);
}

/* -1: as many as there is room for.  The newest stay.  MW_ERR_NO_MEMORY, or MW_ERR_FORBIDDEN while
 * it is being written or resized: all is as before. */
mw_result_t mw_recent_set_max(int64_t max);
void mw_recent_add(mw_record_id_t record, const mw_sample_t *sample);
void mw_recent_freed(mw_record_id_t record, const mw_release_t *release, uint32_t free_stack);
/* As JSON, oldest first, piece by piece.  MW_ERR_FORBIDDEN: it is being written or resized. */
mw_result_t mw_recent_write(mw_out_write_t write, void *context);

/* For its statistics. */
mw_lock_t *mw_recent_lock(void);
/* In the child of a fork: whoever wrote or resized it did not come over. */
void mw_recent_forked(void);

#endif
