/* SPDX-License-Identifier: MIT
 * sample.h -- what is done when a block is sampled, and when a sampled block is freed.
 * Layer: prof.  Hooks of heap/hooks.h, in the thread that allocates or frees; async-signal-safe,
 * errno is kept. */
#ifndef MW_PROF_SAMPLE_H
#define MW_PROF_SAMPLE_H

#include <stdbool.h>

#include "heap/hooks.h"

/* Once, before threads exist: of stacks, 1 .. MW_PROF_DEPTH_MAX. */
void mw_sample_start(unsigned depth_max);
mw_record_id_t mw_sample_taken(mw_hook_thread_t *thread, const mw_sample_request_t *request);
void mw_sample_freed(mw_hook_thread_t *thread, mw_record_id_t record, bool temporary);
/* The calling thread has a new name. */
void mw_sample_thread_renamed(void);

#endif
