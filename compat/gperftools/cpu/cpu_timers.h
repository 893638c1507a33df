/* SPDX-License-Identifier: MIT
 * cpu_timers.h -- the signal of the profiler and the timers that send it: one for the process,
 * whose signal goes to the thread that runs, or one for each thread. */
#ifndef MW_COMPAT_GPERFTOOLS_CPU_TIMERS_H
#define MW_COMPAT_GPERFTOOLS_CPU_TIMERS_H

#include <stdint.h>

#include "compat/gperftools/cpu/cpu_profiler.h"

/* Called for each sample, in the handler, with all signals blocked and errno kept. `samples`: 1,
 * and one for each interval that ended meanwhile. */
typedef void mw_gpc_on_sample_t(const void *context, uint64_t samples);

/* The signal that a profile uses. */
int mw_gpc_timers_signal(const mw_gpc_config_t *config);
mw_gpc_outcome_t mw_gpc_timers_start(const mw_gpc_config_t *config, mw_gpc_on_sample_t *on_sample);
/* Starts the calling thread's timer, if each thread has one and this one has none. */
void mw_gpc_timers_add_thread(const mw_gpc_config_t *config);
/* Stops all timers, and waits until no handler runs. Signals that are pending are discarded. */
void mw_gpc_timers_stop(const mw_gpc_config_t *config);
/* In the child of a fork, which has no timers. */
void mw_gpc_timers_forked(const mw_gpc_config_t *config);

#endif
