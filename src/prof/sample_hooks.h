/* SPDX-License-Identifier: MIT
 * sample_hooks.h -- records a sampled block, and the free of a sampled block.
 * Layer: prof.  These are hooks of heap/sample/hooks.h. The heap calls them in the thread that
 * allocates or frees. Async-signal-safe; errno is kept. */
#ifndef MW_PROF_SAMPLE_HOOKS_H
#define MW_PROF_SAMPLE_HOOKS_H

#include <stdbool.h>

#include "heap/sample/hooks.h"

/* Called once, before threads exist. `depth_max`: longest stack in frames, 1 .. MW_PROF_DEPTH_MAX.
 */
void mw_sample_start(unsigned depth_max);
unsigned mw_sample_depth_max(void);
/* Records a sample. Returns the number of its record; 0: none. */
mw_record_id_t mw_sample_taken(mw_hook_thread_t *thread, const mw_sample_request_t *request);
/* Records the free of a sampled block. `temporary`: the thread allocated nothing else in between.
 */
void mw_sample_freed(mw_hook_thread_t *thread, mw_record_id_t record, bool temporary);
/* Called after the calling thread got a new name: its next sample writes the name. */
void mw_sample_thread_renamed(void);

#endif
