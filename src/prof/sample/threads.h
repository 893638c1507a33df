/* SPDX-License-Identifier: MIT
 * threads.h -- the names of the threads that take samples.
 * Layer: prof/sample.  Called with the tables' lock (table_lock.h). */
#ifndef MW_PROF_SAMPLE_THREADS_H
#define MW_PROF_SAMPLE_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "prof/sample/sampler.h"

/* Writes the calling thread's id and name into the entry with this number, or into the next one if
 * `number` is 0 or the entry has become another thread's. Returns the entry's number; 0:
 * the kernel refused memory for it. Async-signal-safe. */
uint32_t mw_threads_put(uint32_t number, uint32_t thread_id, uint64_t now_ns);
/* Writes the calling thread's name into the profile table. The sampler is the thread's, and its
 * thread_id is set. */
MW_NOINLINE void mw_threads_name_again(mw_sampler_t *sampler, uint64_t now_ns);
/* Age at which a name is written again, because programs name a thread after its start. */
#define MW_THREADS_NAME_NS ((uint64_t)1000000000)
/* Called when the calling thread took a sample: writes its name if none or an old one is there. */
static inline void mw_threads_note(mw_sampler_t *sampler, uint64_t now_ns) {
	if (MW_UNLIKELY(sampler->named_ns == 0) ||
	    MW_UNLIKELY(now_ns - sampler->named_ns >= MW_THREADS_NAME_NS))
		mw_threads_name_again(sampler, now_ns);
}

/* true: threads have the names that mw_threads_set_name() gave them; false: the kernel's names. Set
 * before threads exist. */
extern bool mw_threads_own_names;
/* Names the calling thread; a longer name is cut to 15 bytes. Without mw_threads_own_names the
 * kernel gets the name. */
void mw_threads_set_name(const char *name);
/* Copies the calling thread's name, NUL-terminated. */
void mw_threads_name(char name[16]);

#endif
