/* SPDX-License-Identifier: MIT
 * activity.h -- whether the calling thread's allocations are sampled.
 * Layer: prof/sample.  No locks, no allocation: async-signal-safe. */
#ifndef MW_PROF_SAMPLE_ACTIVITY_H
#define MW_PROF_SAMPLE_ACTIVITY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "state/layout.h"

/* Longest stack in frames. The PCs lie on the sampled thread's stack while a sample is taken. */
#define MW_PROF_DEPTH_MAX MW_STATE_DEPTH_MAX

typedef enum mw_prof_activity {
	MW_PROF_THREAD_NEW, /* sampled unless mw_prof_threads_start_inactive */
	MW_PROF_THREAD_ACTIVE,
	MW_PROF_THREAD_INACTIVE
} mw_prof_activity_t;

/* Nesting depth of the regions in which the calling thread's allocations are not recorded. */
extern MW_TLS unsigned mw_prof_ignoring;
/* Nesting depth of the regions in which they are exempt from leak checks. */
extern MW_TLS unsigned mw_prof_exempting;
extern MW_TLS mw_prof_activity_t mw_prof_thread_activity;

/* true: threads that start from now on are not sampled. */
extern _Atomic bool mw_prof_threads_start_inactive;
void mw_prof_set_threads_start_active(bool active);

/* Returns whether the calling thread is sampled. */
static inline bool mw_prof_thread_is_active(void) {
	return mw_prof_thread_activity == MW_PROF_THREAD_NEW
		       ? !atomic_load_explicit(&mw_prof_threads_start_inactive,
					       memory_order_relaxed)
		       : mw_prof_thread_activity == MW_PROF_THREAD_ACTIVE;
}
/* Switches the sampling of the calling thread. */
void mw_prof_set_thread_active(bool active);

#endif
