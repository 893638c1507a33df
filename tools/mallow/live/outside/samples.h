/* SPDX-License-Identifier: MIT
 * samples.h -- turns the events of the probes, or of the CPU clock, into sums by stack.
 * Layer: live/outside.  In a process of its own, like copied_stack.h. */
#ifndef MW_TOOL_LIVE_OUTSIDE_SAMPLES_H
#define MW_TOOL_LIVE_OUTSIDE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "live/bpf/programs.h"
#include "live/outside/code/allocator_functions.h"
#include "live/outside/code/mapped_code.h"
#include "live/outside/copied_stack.h"
#include "live/outside/cpu_clock.h"
#include "live/outside/outside.h"

typedef struct mw_outside_samples mw_outside_samples_t;

/* All arguments stay the caller's.  CPU time needs no `maps` and no `functions`: NULL. */
mw_outside_samples_t *mw_outside_samples_new(int pid, const mw_probe_maps_t *maps,
					     mw_outside_modules_t *modules,
					     const mw_outside_functions_t *functions,
					     mw_error_t *error);
void mw_outside_samples_free(mw_outside_samples_t *samples);

/* Takes a record of the ring; `samples` is the context of mw_bpf_ring_read(). */
void mw_outside_samples_take(void *samples, const void *record, size_t bytes);
/* Takes a sample of CPU time; `samples` is the context of mw_cpu_clock_read(). */
void mw_outside_samples_take_cpu(void *samples, const mw_cpu_sample_t *sample);
/* Adds the live blocks up, after the probes are gone; those from before `old_ns` (CLOCK_MONOTONIC)
 * are old. */
void mw_outside_samples_end(mw_outside_samples_t *samples, uint64_t old_ns);
/* Whether there is no room for more samples. */
bool mw_outside_samples_are_full(const mw_outside_samples_t *samples);
/* Number of samples that were of calls by another sampled function. */
uint64_t mw_outside_samples_nested(const mw_outside_samples_t *samples);

/* Number of stacks of CPU time that are longer than what was copied of them. */
uint64_t mw_outside_samples_truncated(const mw_outside_samples_t *samples);

const mw_outside_thread_t *mw_outside_samples_threads(const mw_outside_samples_t *samples,
						      size_t *count);
const mw_outside_stack_t *mw_outside_samples_stacks(const mw_outside_samples_t *samples,
						    size_t *count);

#endif
