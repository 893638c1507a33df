/* SPDX-License-Identifier: MIT
 * schedule.h -- runs threads one at a time, in an order that a seed fixes.
 *
 * Each thread of a schedule is a real one, with its own thread pointer and thread-local state, but
 * only the one with the baton runs.  At each point (points.h) the generator decides who has it
 * next.  The same seed gives the same order of steps. */
#ifndef SCHEDULE_SCHEDULE_H
#define SCHEDULE_SCHEDULE_H

#include <stdint.h>

enum { SCHEDULE_THREADS_MAX = 4 };

/* Runs body(0) ... body(threads - 1) to their ends; between them other code may run outside. */
void schedule_run(uint64_t seed, unsigned threads, void (*body)(unsigned thread));
/* In the child of a fork: the calling thread is the only one, and stays so. */
void schedule_alone(void);
/* How often the baton went to another thread, since the start of the program. */
uint64_t schedule_switches(void);
/* splitmix64 */
uint64_t schedule_draw(uint64_t *state);

#endif
