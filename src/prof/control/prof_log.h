/* SPDX-License-Identifier: MIT
 * prof_log.h -- jemalloc's prof_log. Logs each sampled block that is freed while the log runs, with
 * both stacks and times, and writes them as JSON when it stops.
 * Layer: prof/control. The log has memory of its own for MW_LOG_ENTRIES entries; further ones are
 * left out. Starting, stopping and writing are not async-signal-safe. */
#ifndef MW_PROF_CONTROL_PROF_LOG_H
#define MW_PROF_CONTROL_PROF_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "prof/table/records.h"

#define MW_LOG_ENTRIES ((uint64_t)1 << 20)

typedef enum mw_prof_log_state {
	MW_LOG_OFF,
	MW_LOG_STARTING,
	MW_LOG_ON,
	MW_LOG_STOPPING
} mw_log_state_t;
extern _Atomic int mw_prof_log_state;

static inline bool mw_prof_log_is_on(void) {
	/* Pairs with the release in mw_prof_log_start(): the entries are mapped. */
	return __builtin_expect(
		atomic_load_explicit(&mw_prof_log_state, memory_order_acquire) == MW_LOG_ON, 0);
}

/* Starts the log. `path`: file that is written when it stops, cut at 511 bytes. MW_ERR_BAD_VALUE:
 * the log runs already. MW_ERR_NO_MEMORY: the kernel refused memory. */
mw_result_t mw_prof_log_start(const char *path);
/* Stops the log and writes the file. MW_ERR_BAD_VALUE: the log does not run. */
mw_result_t mw_prof_log_stop(void);
/* Logs that a sampled block was freed by this stack. Called with the tables' lock
 * (table_lock.h). */
void mw_prof_log_add(const mw_sample_t *sample, const mw_release_t *release, uint32_t free_stack);
/* true: times are written as CLOCK_REALTIME, not CLOCK_MONOTONIC (option
 * prof_time_resolution:high). */
void mw_prof_log_set_realtime(bool realtime);
/* Converts the time of a record to the clock that option prof_time_resolution selects. */
uint64_t mw_prof_log_time(uint64_t monotonic_ns);
/* Called in the child of a fork: the log stays the parent's. */
void mw_prof_log_forked(void);

#endif
