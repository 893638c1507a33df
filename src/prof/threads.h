/* SPDX-License-Identifier: MIT
 * threads.h -- the names of the threads that take samples.
 * Layer: prof.  Called in the caller's turn (gate.h). */
#ifndef MW_PROF_THREADS_H
#define MW_PROF_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "prof/sampler.h"

/* The calling thread, whose sampler this is and whose id is known, took a sample.  Writes its name
 * down if that was last done a second ago or never: threads are named after they start. */
MW_NOINLINE void mw_threads_name_again(mw_sampler_t *sampler, uint64_t now_ns);
#define MW_THREADS_NAME_NS ((uint64_t)1000000000)
static inline void mw_threads_note(mw_sampler_t *sampler, uint64_t now_ns) {
	if (MW_UNLIKELY(sampler->named_ns == 0) ||
	    MW_UNLIKELY(now_ns - sampler->named_ns >= MW_THREADS_NAME_NS))
		mw_threads_name_again(sampler, now_ns);
}

/* Their names are the kernel's, or, when this is set before threads exist, those given here only.
 */
extern bool mw_threads_own_names;
void mw_threads_set_name(const char *name);
/* NUL-terminated. */
void mw_threads_name(char name[16]);

#endif
