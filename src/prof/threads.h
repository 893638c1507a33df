/* SPDX-License-Identifier: MIT
 * threads.h -- the names of the threads that take samples.
 * Layer: prof.  Called in the caller's turn (gate.h). */
#ifndef MW_PROF_THREADS_H
#define MW_PROF_THREADS_H

#include <stdint.h>

#include "prof/sampler.h"

/* The calling thread, whose sampler this is and whose id is known, took a sample.  Writes its name
 * down if that was last done a second ago or never: threads are named after they start. */
void mw_threads_note(mw_sampler_t *sampler, uint64_t now_ns);

#endif
