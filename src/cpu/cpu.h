/* SPDX-License-Identifier: MIT
 * cpu.h -- samples of CPU time: each thread has a timer over its own CPU time, whose signal takes
 * the stack.
 * Layer: cpu, the door of this folder. Off until a tool or the option prof_cpu asks for it. While
 * it is off there is no timer, no handler and no thread. prof/control calls the functions that it
 * declares as hooks; this folder defines them.
 *
 * Reading order: cpu (on and off), thread_timers (which threads have a timer), cpu_sample (the
 * signal's handler: walk, stack, counters). The folder may use the folders of src/prof up to
 * prof/control. Design and limits: doc/internals/cpu.md. */
#ifndef MW_CPU_CPU_H
#define MW_CPU_CPU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

/* true while CPU time is sampled. Relaxed: a thread that reads an old value gets its timer from the
 * next scan at the threads. */
extern _Atomic bool mw_cpu_is_on;

static inline bool mw_cpu_wants_threads(void) {
	return MW_UNLIKELY(atomic_load_explicit(&mw_cpu_is_on, memory_order_relaxed));
}

/* Called by a thread whose heap was just made, and by one that ends, if mw_cpu_wants_threads(). */
MW_COLD void mw_cpu_thread_start(void);
MW_COLD void mw_cpu_thread_end(void);

/* Takes so many samples per second of each thread's CPU time or, below 0, of wall-clock time; 0:
 * none. `event`: mw_cpu_event_t, which wall-clock time has none of. What went wrong is in
 * live.cpu_error. Called without locks. */
MW_COLD void mw_cpu_start(int32_t hz, uint32_t event);

/* Called before a descriptor of signalfd(2) reads `signals` (bit n - 1: signal n). Threads that
 * block the signal of samples have none from then on, so that the descriptor reads none; the
 * calling thread's pending ones are dropped. */
MW_COLD void mw_cpu_note_read(uint64_t signals);

#endif
