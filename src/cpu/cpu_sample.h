/* SPDX-License-Identifier: MIT
 * cpu_sample.h -- a sample of CPU time: the stack of the interrupted code, counted for its thread.
 * Layer: cpu. Counts are in MW_SECTION_CPU of both copies of the tables; stacks are those of the
 * depot, which the heap's samples use as well. */
#ifndef MW_CPU_CPU_SAMPLE_H
#define MW_CPU_CPU_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "os/signal/tick.h"

/* The time or the event that a sample stands for. It is one word, so that a handler reads it at
 * once. */
typedef struct mw_cpu_period {
	uint32_t ns;   /* of a timer's interval */
	bool is_wall;  /* wall-clock time; else CPU time of the thread */
	uint8_t event; /* mw_cpu_event_t */
} mw_cpu_period_t;

/* Makes what samples need. Returns false if the kernel refused memory. Called with the control
 * lock, when the tables exist. */
bool mw_cpu_sample_prepare(void);
/* Counts a sample. Called in the signal's handler: no lock is waited for, nothing is allocated from
 * the heap, and the walk has at most MW_STATE_DEPTH_MAX frames. */
void mw_cpu_sample_take(const mw_os_tick_t *tick, mw_cpu_period_t period);
/* Sets all counts to zero. Called while the tables are quiesced, or in the child of a fork. */
void mw_cpu_sample_reset(void);
void mw_cpu_sample_forked(void);

#endif
