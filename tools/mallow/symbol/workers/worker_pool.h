/* SPDX-License-Identifier: MIT
 * worker_pool.h -- starts worker processes, reads their messages, and handles their ends.
 * Layer: symbol/workers.  The folder's door.  Read worker.h next: it has the messages. answers.c
 * puts them into the profile. job_queue.h shares a file's addresses among workers, address_lookup.h
 * and found.h do a worker's main work, and confine.h runs other work on hostile files in a process
 * of its own. */
#ifndef MW_TOOL_SYMBOL_WORKERS_WORKER_POOL_H
#define MW_TOOL_SYMBOL_WORKERS_WORKER_POOL_H

#include "symbol/workers/answers.h"

/* Runs workers until all open jobs are tried.  Returns 0 if every job is done or given up. -1:
 * the job that a worker died of is given up, and other jobs may be left. -2: no worker could be
 * started. */
int mw_worker_pool_run(mw_session_t *session);

/* Starts a process that writes the new names to the symbol cache. */
void mw_worker_pool_fill_cache(const mw_session_t *session);

/* Waits for the process of mw_worker_pool_fill_cache(). exit() calls this, too. */
void mw_worker_pool_finish(void);

#endif
