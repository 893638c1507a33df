/* SPDX-License-Identifier: MIT
 * start.h -- start-up and end of the process: connects options, heap, profiler, thread exit, fork
 * and exit.
 * Layer: api/process, the door of this folder. The folder connects the library with the life of the
 * process; it may use everything below src/api. src/api uses it for its slow paths.
 *
 * Reading order: start, fork (fork(2) and the handlers), exit (_exit(2)), prctl, dlopen,
 * background_thread (the library's thread), stats_interval (statistics at intervals),
 * compat_hooks.h (hooks that compat/jemalloc defines). */
#ifndef MW_API_START_H
#define MW_API_START_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

/* Set when start-up begins. Slow paths test it; the fast paths' lists are empty until then. */
extern bool mw_api_started;

/* Called by the first slow path, possibly before any constructor has run. */
MW_NOINLINE void mw_api_start(void);

/* Registers the fork handlers once: before the handlers of other libraries, before the process
 * forks, and before a second thread has a heap. */
void mw_api_need_fork_handlers(void);
/* Defined in fork.c, which a program that is linked with libmallow.a lacks. Registers handlers with
 * libc. Returns false if there is no memory. */
MW_COLD bool mw_api_register_atfork(void (*prepare)(void), void (*parent)(void),
				    void (*child)(void)) __attribute__((weak));

/* Options about failed requests and about cases that standards leave open. */
typedef enum mw_zero_realloc { /* in the order of the option's words */
			       MW_ZERO_REALLOC_ALLOC,
			       MW_ZERO_REALLOC_FREE,
			       MW_ZERO_REALLOC_ABORT,
} mw_zero_realloc_t;
typedef enum mw_api_fill { MW_FILL_NONE, MW_FILL_JUNK, MW_FILL_ZERO } mw_api_fill_t;
typedef struct mw_api_policy {
	mw_api_fill_t fill;  /* contents of new blocks; other values than NONE send all requests to
				the slow path */
	bool xmalloc;        /* true: out of memory ends the program */
	bool infallible_new; /* true: out of memory in operator new ends the program */
	bool keep_deepbind;  /* true: dlopen() honours RTLD_DEEPBIND */
	mw_zero_realloc_t zero_realloc;
} mw_api_policy_t;
extern mw_api_policy_t mw_api_policy; /* Set before threads exist. */

/* Finds the operators that the program replaces. Called once, before the first block is allocated.
 * Absent in a C program that is linked with libmallow.a. */
MW_HOOK void mw_cxx_start(void) __attribute__((weak));
/* Sends the blocks that functions with a stated size free to the slow path (mw_api_sized_map).
 * False: no memory for the map. */
MW_HOOK MW_COLD bool mw_api_divert_sized(void);

/* Writes all statistics of heap and profiler: MW_STAT_COUNT values. */
void mw_api_stats(uint64_t *stats);

#endif
