/* SPDX-License-Identifier: MIT
 * heap_profiler.h -- gperftools' heap profiler, its text format, and hooks of malloc and free.
 * Layer: compat/gperftools/profile, the door of this folder. Any thread may call, not a signal
 * handler.
 *
 * Reading order: profile_text.c (a profile as text), heap_profiler.c (when files are written),
 * profile_name.h, final_file.h, growth.h (which calls made the heap grow), hooks.c, stacktrace.c.
 */
#ifndef MW_COMPAT_GPERFTOOLS_PROFILE_HEAP_PROFILER_H
#define MW_COMPAT_GPERFTOOLS_PROFILE_HEAP_PROFILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/compat/compat_calls.h"
#include "prof/mappings/mapping_call.h"

/* Receives a text, piece by piece. */
typedef void (*mw_gp_write_t)(void *context, const char *text, size_t length);
typedef enum mw_gp_profile {
	MW_GP_PROFILE_FULL,     /* live and freed blocks, "heapprofile" */
	MW_GP_PROFILE_ALL,      /* FULL, and mappings of the program, which come first */
	MW_GP_PROFILE_MAPPINGS, /* the mappings alone */
	MW_GP_PROFILE_LIVE,     /* live blocks, "heap_v2/1": estimates that readers do not scale */
	MW_GP_PROFILE_GROWTH,   /* what made the heap grow: growth.h */
} mw_gp_profile_t;
void mw_gp_profile_text(mw_gp_profile_t kind, mw_gp_write_t write, void *context);
/* Writes these stacks as a profile of kind FULL. */
void mw_gp_profile_stacks(const mw_compat_stack_t *stacks, size_t count, mw_gp_write_t write,
			  void *context);
/* Returns what the heap profiler's files hold. */
mw_gp_profile_t mw_gp_profiler_kind(void);
/* Returns live blocks by stack as words; see MallocExtension_ReadStackTraces().  `take` allocates
 * them: malloc() for callers in C, who free them with free(), or operator new[] for those in C++.
 */
typedef void *mw_gp_take_t(size_t bytes);
void **mw_gp_profile_words(mw_gp_take_t *take);
/* Returns stacks that made the heap grow; see MallocExtension_ReadHeapGrowthStackTraces(). */
void **mw_gp_growth_words(mw_gp_take_t *take);

/* Starts and ends the recording of every allocation, which heap profiler, hooks and
 * leak checker share. MAPPING_LOG asks for the program's calls that map memory instead. */
typedef enum mw_gp_user {
	MW_GP_USER_PROFILER = 1,
	MW_GP_USER_HOOKS = 2,
	MW_GP_USER_CHECKER = 8, /* needs no call for each allocation */
	MW_GP_USER_MAPPING_LOG = 4,
} mw_gp_user_t;
void mw_gp_record(mw_gp_user_t user, bool on);
/* Called for each allocation and free while recorded, by hooks.c. */
void mw_gp_profiler_see(size_t bytes, bool freed);
/* Called before and after each call that maps memory, while asked for, by hooks.c. */
void mw_gp_profiler_see_mapping(const mw_mapping_call_t *call);

/* Start of the process, from the constructor, and its end. */
void mw_gp_profiler_start(void);
/* Writes the last file, once. `waits` == false: not if another thread is writing one. */
void mw_gp_profiler_finish(bool waits);
/* Wakes the profiler's thread. Returns false if there is none. Signal handlers may call it. */
bool mw_gp_profiler_wake_helper(void);

#endif
