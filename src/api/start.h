/* SPDX-License-Identifier: MIT
 * start.h -- composes the layers: options, heap, profiler, thread exit, fork, exit.
 * Layer: api. */
#ifndef MW_API_START_H
#define MW_API_START_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

/* Set once start-up has begun.  Slow paths test it; fast paths find no block before it is. */
extern bool mw_api_started;

/* Called by the first slow path, possibly before any constructor has run. */
MW_NOINLINE void mw_api_start(void);

/* The fork handlers are registered, if they were not yet: before anybody else's, before the process
 * forks, and before a second thread has a heap. */
void mw_api_watch_forks(void);
/* Of fork.c, which a program that is linked with libmallow.a does not have: registers handlers with
 * libc.  False: no memory. */
MW_COLD bool mw_api_register_atfork(void (*prepare)(void), void (*parent)(void),
				    void (*child)(void)) __attribute__((weak));

/* All statistics, the heap's and the profiler's: MW_STAT_COUNT values. */
void mw_api_stats(uint64_t *stats);

#endif
