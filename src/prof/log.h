/* SPDX-License-Identifier: MIT
 * log.h -- jemalloc's prof_log: each sampled block that is freed while the log runs, with both
 * stacks and times, as JSON when it stops.
 * Layer: prof.  Entries are kept in memory of the log's own; beyond MW_LOG_ENTRIES they are left
 * out.  Starting, stopping and writing are for ordinary code, not for signal handlers. */
#ifndef MW_PROF_LOG_H
#define MW_PROF_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "prof/records.h"

#define MW_LOG_ENTRIES ((uint64_t)1 << 20)

typedef enum mw_log_state {
	MW_LOG_OFF,
	MW_LOG_STARTING,
	MW_LOG_ON,
	MW_LOG_STOPPING
} mw_log_state_t;
extern _Atomic int mw_log_state;

static inline bool mw_log_is_on(void) {
	/* Pairs with the release in mw_log_start(): the entries are mapped. */
	return __builtin_expect(
		atomic_load_explicit(&mw_log_state, memory_order_acquire) == MW_LOG_ON, 0);
}

/* `path` is where the log goes when it stops; cut at 511 bytes.  MW_ERR_BAD_VALUE: it runs already;
 * MW_ERR_NO_MEMORY. */
mw_result_t mw_log_start(const char *path);
/* Writes the file.  MW_ERR_BAD_VALUE: it does not run. */
mw_result_t mw_log_stop(void);
/* A sampled block was freed by this stack; in the caller's turn (gate.h). */
void mw_log_add(const mw_sample_t *sample, const mw_release_t *release, uint32_t free_stack);
/* Times are given as CLOCK_REALTIME, not as CLOCK_MONOTONIC: option prof_time_resolution:high. */
void mw_log_set_realtime(bool realtime);
/* The same, for whoever else writes times of records. */
uint64_t mw_log_time(uint64_t monotonic_ns);
/* In the child of a fork: the log is the parent's. */
void mw_log_forked(void);

#endif
