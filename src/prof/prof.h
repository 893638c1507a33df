/* SPDX-License-Identifier: MIT
 * prof.h -- the heap profiler as start-up code sees it.
 * Layer: prof, the door of src/prof. Installs the hooks of heap/sample/hooks.h and starts the
 * folders below. All functions keep errno and never allocate from the heap. When the kernel refuses
 * memory or a file, a part of the profile is missing and the program continues.
 *
 * Folders, in reading order: sample (which blocks are sampled), sample_hooks.c (a sample and its
 * free), unwind (the stack), modules (the objects that its PCs belong to), table (stacks,
 * records, counters), store (private tables and their published copy), dump (files written by
 * the process), control (on, off, rate, ticks, triggers). probes.h has probe points for profilers
 * outside of the process. A folder uses those that scripts/layers.txt names. */
#ifndef MW_PROF_PROF_H
#define MW_PROF_PROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/stats/heap_walk.h"

#include "base/error.h"
#include "state/settings.h"

typedef struct mw_prof_config {
	bool active;              /* sample from the start */
	uint64_t mean_bytes;      /* T, mean bytes between samples; 1 .. MW_STATE_MEAN_BYTES_MAX */
	uint64_t state_min_bytes; /* publish the state file at this many bytes; 0: at once */
	bool threads_start_inactive; /* new threads are not sampled until they request it */
	bool dump_without_allocated; /* heap_v2 dumps contain live blocks only */
	bool own_thread_names; /* thread names are those that the program sets, not the kernel's */
	bool keep_state;       /* keep the state file at exit */
	bool secure;           /* the process is set-uid: no file, no sampling */
	const char *session;   /* copied; NULL: none */
	const char *unused_options; /* copied; names separated by commas */
	uint64_t seed;              /* seed of the random numbers; 0: a seed from the kernel */
	unsigned depth_max;         /* longest stack in frames; 1 .. MW_PROF_DEPTH_MAX */
	unsigned cost_limit;        /* thousandths of a thread's time for samples; 0: none */
	/* MW_SETTING_COUNT values as settings.def has them; NULL: all 0. */
	const uint64_t *settings;
	const char *dump_name;   /* pattern, see prof/dump/dump.h; NULL: empty */
	const char *dump_prefix; /* text of %P; not copied, must stay valid; NULL: empty */
	/* Writes MW_STAT_COUNT values. Called without locks. NULL: no statistics. */
	void (*read_stats)(uint64_t *stats);
	/* Walks the heap for the published sums by class and range. Called with no lock held.
	 * NULL: no walk. */
	void (*walk_heap)(const mw_heap_walk_sink_t *sink);
	/* Returns the bytes that the calling thread allocated, for prof_interval. NULL: the
	 * estimates from samples are used. */
	uint64_t (*thread_bytes)(void);
} mw_prof_config_t;

/* Starts the profiler. Called once, before threads exist. */
void mw_prof_start(const mw_prof_config_t *config);
/* Called at exit(3) or return from main: writes the last tick and event, and removes the state file
 * unless it is kept. */
void mw_prof_exit(void);
/* Called at _exit(2): marks the state file, which is kept. Async-signal-safe. Has no effect in
 * vfork's child. */
void mw_prof_leave(void);
/* Sets a function that mw_prof_leave() calls first, in the child of vfork(2), too; NULL: none. */
void mw_prof_on_leave(void (*function)(void));

/* Called when the program is about to forbid system calls: publishes the state file while that is
 * possible. Sampling continues; functions that need other system calls than malloc's are skipped
 * (os/platform/kernel_calls.h). `confined` == false: the program will not forbid system calls after
 * all. */
void mw_prof_confine(bool confined);

/* Called after the program forbade to dump its memory. ptrace(2) then refuses the process to its
 * user, so the state file loses its name, and only root can open it. */
void mw_prof_hide(void);

/* Handlers of fork(2). Prepare waits until no sample is half taken, and runs before the heap takes
 * its locks. Parent and child run after the heap has released them. */
void mw_prof_fork_prepare(void);
void mw_prof_fork_parent(void);
void mw_prof_fork_child(void);

/* Switches sampling on or off. Idempotent. Not async-signal-safe. */
void mw_prof_set_active(bool active);
/* Sets the rate. MW_ERR_BAD_VALUE: outside 1 .. MW_STATE_MEAN_BYTES_MAX. */
mw_result_t mw_prof_set_mean_bytes(uint64_t mean_bytes);
bool mw_prof_is_active(void);
/* Names the calling thread, also for the kernel. Longer names are cut to 15 bytes. */
void mw_prof_set_thread_name(const char *name);
bool mw_prof_is_secure(void);
/* Changes a setting. MW_ERR_BAD_VALUE: out of range, or the program handles the signal. */
mw_result_t mw_prof_set(mw_setting_t setting, uint64_t value);
mw_result_t mw_prof_set_dump_name(const char *pattern);

/* Writes a dump; see prof/dump/dump.h. While another dump is being written, each function waits up
 * to five seconds and then returns MW_DUMP_BUSY (1). Async-signal-safe after the first sample. */
int mw_prof_dump(const char *path);
int mw_prof_dump_to(bool heap_v2, bool (*write)(void *context, const void *bytes, size_t length),
		    void *context);

/* Totals of the profile; objects in 1/65536. */
typedef struct mw_prof_figures {
	bool active;
	uint64_t mean_bytes, samples;
	int64_t live_bytes, live_objects_q16, alloc_bytes, alloc_objects_q16;
	uint64_t dumps_written, dumps_failed;
} mw_prof_figures_t;
void mw_prof_figures(mw_prof_figures_t *figures);

/* Returns the number of stacks that allocated blocks which are live now. */
uint64_t mw_prof_live_stacks(void);

/* Sets all counters to zero. Blocks that are live now do not count any more. */
void mw_prof_reset(void);

#endif
