/* SPDX-License-Identifier: MIT
 * crew.h -- the workers' processes: starts them, listens to them, sees how they end.
 * Layer: tools/symbol.  Private to this folder. */
#ifndef MW_TOOL_SYMBOL_CREW_H
#define MW_TOOL_SYMBOL_CREW_H

#include "symbol/answers.h"

/* Sends workers through the jobs that are not done.  0: all are done, or given up; -1: one at which
 * a worker died was given up, there may be others left; -2: no worker could be started. */
int mw_crew_run(const mw_session_t *session);

/* Starts a process that keeps what was not known before for later runs. */
void mw_crew_keep(const mw_session_t *session);

#endif
