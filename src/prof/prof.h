/* SPDX-License-Identifier: MIT
 * prof.h -- the heap profiler as the start-up code sees it.
 * Layer: prof.  Installs hooks.h's hooks; owns the state image and its mirror, the state file.
 * All functions keep errno and never allocate from the heap.  A kernel that refuses something costs
 * a part of the profile, never the program. */
#ifndef MW_PROF_PROF_H
#define MW_PROF_PROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/stats.h"

#include "base/compiler.h"
#include "base/error.h"
#include "state/settings.h"

/* The longest stack that can be asked for: its PCs sit on the sampled thread's own stack. */
#define MW_PROF_DEPTH_MAX MW_STATE_DEPTH_MAX

typedef struct mw_prof_config {
	bool active;                 /* sample from the start */
	uint64_t mean_bytes;         /* T; 1 .. MW_STATE_MEAN_BYTES_MAX */
	uint64_t state_min_bytes;    /* publish the state file at this many bytes; 0: at once */
	bool threads_start_inactive; /* not sampled until they ask for it */
	bool dump_without_allocated; /* heap_v2 dumps: only what is live */
	bool own_thread_names;       /* not the kernel's, but those that are set */
	bool keep_state;             /* leave the file when the process exits */
	bool secure;                 /* set-uid: no file, no sampling */
	const char *session;         /* copied; NULL: none */
	const char *unused_options;  /* copied likewise; names with commas */
	uint64_t seed;               /* of the random numbers; 0: the kernel's */
	unsigned depth_max;          /* of a stack; 1 .. MW_PROF_DEPTH_MAX */
	/* MW_SETTING_COUNT values as settings.def has them; NULL: all 0. */
	const uint64_t *settings;
	const char *dump_name;   /* pattern, see prof/dump.h; NULL: empty */
	const char *dump_prefix; /* %P in it, which stays where it is; NULL: empty */
	/* Fills MW_STAT_COUNT values; called with no lock held.  NULL: none. */
	void (*read_stats)(uint64_t *stats);
	/* Walks the heap for a survey; likewise. */
	void (*survey)(const mw_survey_sink_t *sink);
	/* Bytes that the calling thread allocated, for prof_interval.  NULL: the estimates count.
	 */
	uint64_t (*thread_bytes)(void);
} mw_prof_config_t;

/* Above 0 the calling thread's allocations are not recorded. */
extern MW_TLS unsigned mw_prof_ignoring;

/* Once, before threads exist. */
void mw_prof_start(const mw_prof_config_t *config);
/* At exit(3) or return: the last tick and event; removes the file unless it is kept. */
void mw_prof_exit(void);
/* At _exit(2): leaves a note in the state file, which stays.  Async-signal-safe; in vfork's child
 * nothing. */
void mw_prof_leave(void);

/* Handlers of fork(2).  Prepare waits until no sample is half taken, so it comes before the heap
 * takes its locks; parent and child come after the heap has released them. */
void mw_prof_fork_prepare(void);
void mw_prof_fork_parent(void);
void mw_prof_fork_child(void);

/* Idempotent; not for signal handlers. */
void mw_prof_set_active(bool active);
/* MW_ERR_BAD_VALUE outside 1 .. MW_STATE_MEAN_BYTES_MAX. */
mw_result_t mw_prof_set_mean_bytes(uint64_t mean_bytes);
bool mw_prof_is_active(void);
/* The calling thread's share in it, and what new threads begin with. */
bool mw_prof_threads_start_active(void);
void mw_prof_set_threads_start_active(bool active);
typedef enum mw_prof_activity {
	MW_PROF_THREAD_NEW,
	MW_PROF_THREAD_ACTIVE,
	MW_PROF_THREAD_INACTIVE
} mw_prof_activity_t;
extern MW_TLS mw_prof_activity_t mw_prof_thread_activity;
static inline bool mw_prof_thread_is_active(void) {
	return mw_prof_thread_activity == MW_PROF_THREAD_NEW
		       ? mw_prof_threads_start_active()
		       : mw_prof_thread_activity == MW_PROF_THREAD_ACTIVE;
}
void mw_prof_set_thread_active(bool active);
/* Names the calling thread, also for the kernel; longer ones are cut to 15 bytes. */
void mw_prof_set_thread_name(const char *name);
bool mw_prof_is_secure(void);
/* MW_ERR_BAD_VALUE: out of range, or a signal that is not to be had. */
mw_result_t mw_prof_set(mw_setting_t setting, uint64_t value);
mw_result_t mw_prof_set_dump_name(const char *pattern);

/* Dumps, see prof/dump.h; these wait up to five seconds while another is under way, and return
 * MW_DUMP_BUSY (1) then.  Async-signal-safe once a sample was taken. */
int mw_prof_dump(const char *path);
int mw_prof_dump_to(bool heap_v2, bool (*write)(void *context, const void *bytes, size_t length),
		    void *context);

typedef struct mw_prof_figures {
	bool active;
	uint64_t mean_bytes, samples;
	int64_t live_bytes, live_objects_q16, alloc_bytes, alloc_objects_q16;
	uint64_t dumps_written, dumps_failed;
} mw_prof_figures_t;
void mw_prof_figures(mw_prof_figures_t *figures);

/* Stacks that made blocks which are live now. */
uint64_t mw_prof_live_stacks(void);

/* All counters to zero; the blocks that are live now are forgotten. */
void mw_prof_reset(void);

#endif
