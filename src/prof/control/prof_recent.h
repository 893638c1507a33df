/* SPDX-License-Identifier: MIT
 * prof_recent.h -- jemalloc's prof_recent: the most recent sampled allocations, with their
 * frees.
 * Layer: prof/control. The entries are a ring. A thread writes with the tables' lock
 * (table_lock.h); any thread may read. The size changes with the tables quiesced. */
#ifndef MW_PROF_CONTROL_PROF_RECENT_H
#define MW_PROF_CONTROL_PROF_RECENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "os/lock/lock.h"
#include "prof/dump/writer.h"
#include "prof/table/records.h"

/* Largest number of entries; a larger setting is reduced to it. */
#define MW_PROF_RECENT_MAX ((int64_t)1 << 20)

extern _Atomic int64_t mw_prof_recent_max;

static inline bool mw_prof_recent_is_on(void) {
	return __builtin_expect(
		atomic_load_explicit(&mw_prof_recent_max, memory_order_relaxed) != 0, 0);
}

/* Sets the number of entries; -1: MW_PROF_RECENT_MAX. The newest entries are kept.
 * MW_ERR_NO_MEMORY, or MW_ERR_FORBIDDEN if another thread writes or resizes the ring: nothing is
 * changed. */
mw_result_t mw_prof_recent_set_max(int64_t max);
void mw_prof_recent_add(mw_record_id_t record, const mw_sample_t *sample);
void mw_prof_recent_freed(mw_record_id_t record, const mw_release_t *release, uint32_t free_stack);
/* Writes the entries as JSON, oldest first, piece by piece. MW_ERR_FORBIDDEN: another thread writes
 * or resizes the ring. */
mw_result_t mw_prof_recent_write(mw_writer_write_t write, void *context);

/* Returns the lock, for its statistics. */
mw_lock_t *mw_prof_recent_lock(void);
/* Called in the child of a fork: a thread that wrote or resized the ring does not exist there. */
void mw_prof_recent_forked(void);

#endif
