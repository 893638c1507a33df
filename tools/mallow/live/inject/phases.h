/* SPDX-License-Identifier: MIT
 * phases.h -- has one thread of a process do one thing, and go on.
 * Layer: live/inject. */
#ifndef MW_TOOL_LIVE_INJECT_PHASES_H
#define MW_TOOL_LIVE_INJECT_PHASES_H

#include "live/inject/injected.h"
#include "live/process/reach.h"
#include "model/error.h"

/* Points a thread to the injected code with this order (live/inject/injected.h), which is written
 * first where it is not there.  Who the process is, and whether the thread's filters of system
 * calls allow what follows, is checked while the thread is stopped.  Returns 0: a thread will do
 * it, now or when it gets a processor.  -1: none does; a sentence is in `error`. */
int mw_phase_enter(const mw_reach_t *reach, const mw_injected_order_t *order, mw_error_t *error);

#endif
