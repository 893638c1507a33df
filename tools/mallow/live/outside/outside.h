/* SPDX-License-Identifier: MIT
 * outside.h -- samples the allocations of a process by probes of the kernel, or its CPU time by a
 * clock of the kernel: nothing of mallow enters the process, and it need not have been started with
 * mallow.
 * Layer: live/outside, the door of this folder.  For allocations code/ says where to probe,
 * attach_probes.h attaches the programs of live/bpf, and guard.h says what that costs; cpu_clock.h
 * is the clock.  samples.h adds up what comes, copied_stack.h walks the stacks; outside.c does all
 * this in a process of its own, because the files of the process may be hostile, and hands the
 * result over. */
#ifndef MW_TOOL_LIVE_OUTSIDE_OUTSIDE_H
#define MW_TOOL_LIVE_OUTSIDE_OUTSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/error.h"

/* The kernel copies at most so many KiB of a stack. */
#define MW_OUTSIDE_STACK_KIB 32

/* Estimates. */
typedef struct mw_outside_sum {
	double blocks, bytes;
	uint64_t samples;
} mw_outside_sum_t;

typedef struct mw_outside_stack {
	uint64_t *frames; /* of the caller first; addresses to look up (copied_stack.h) */
	size_t depth;
	size_t thread; /* index in the result's threads plus 1; 0: of all threads */
	mw_outside_sum_t allocated, live; /* CPU time: `samples` of the first alone */
	mw_outside_sum_t old;             /* live ones that are older than options.older_seconds */
	uint64_t oldest_ns;               /* CLOCK_MONOTONIC of the oldest live one; 0 = none */
} mw_outside_stack_t;

/* A mapping of code that stacks may lead to. */
typedef struct mw_outside_mapping {
	uint64_t start, limit, offset;
	char *path, *build_id; /* "" = not known */
} mw_outside_mapping_t;

typedef struct mw_outside_thread {
	int id;
	char name[16]; /* "": it ended too soon */
} mw_outside_thread_t;

typedef enum mw_outside_end {
	MW_OUTSIDE_TIME,        /* the time is over */
	MW_OUTSIDE_INTERRUPTED, /* somebody wrote to options.stop_fd */
	MW_OUTSIDE_ENDED,       /* the process has ended */
	MW_OUTSIDE_EXEC,        /* the process runs another program */
	MW_OUTSIDE_COSTLY,      /* the process allocates more often than at the start */
	MW_OUTSIDE_FULL,        /* no room for more samples */
} mw_outside_end_t;

typedef struct mw_outside_options {
	int pid;
	uint64_t start_ticks; /* of the process (live/process/process.h) */
	uint64_t mean_bytes;  /* T */
	unsigned cpu_hz;      /* samples in a second of CPU time; 0: samples of allocations */
	double seconds;       /* how long; 0 = until stop_fd is readable */
	double older_seconds;
	bool is_forced; /* whatever it costs */
	/* Has the second program at returns even where the kernel has sessions (tests). */
	bool has_return_probes;
	int stop_fd; /* ends the sampling once it is readable */
	/* Called in the other process once the probes are there; may be NULL. */
	void (*begun)(int pid);
	/* Called each second in the other process, with the seconds that are left or, without a
	 * limit, that have passed; may be NULL. */
	void (*progress)(int pid, double seconds);
} mw_outside_options_t;

typedef struct mw_outside_result {
	mw_outside_stack_t *stacks;
	size_t stack_count, stack_capacity;
	mw_outside_mapping_t *mappings;
	size_t mapping_count, mapping_capacity;
	mw_outside_thread_t *threads;
	size_t thread_count, thread_capacity;
	mw_outside_end_t end;
	double seconds;
	uint64_t end_ns;       /* CLOCK_MONOTONIC */
	uint64_t calls, bytes; /* counted: all calls, not only sampled ones */
	uint64_t samples, lost, unfollowed;
	double calls_per_second, share, hit_ns;
	double end_share;   /* over the whole time */
	bool follows_new;   /* operator new's blocks are followed */
	bool is_user_only;  /* CPU time in the kernel is missing */
	uint64_t truncated; /* samples of stacks that are longer than what is copied of them */
} mw_outside_result_t;

/* Samples a process.  Returns 0: the caller calls mw_outside_result_release().  -1: `error` says
 * what the user can do instead. */
int mw_outside_run(const mw_outside_options_t *options, mw_outside_result_t *out,
		   mw_error_t *error);
void mw_outside_result_release(mw_outside_result_t *result);

#endif
