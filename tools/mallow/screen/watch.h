/* SPDX-License-Identifier: MIT
 * watch.h -- state of the live view of one process; screen.c draws it.
 * Layer: screen.  Private to this folder. */
#ifndef MW_TOOL_SCREEN_WATCH_H
#define MW_TOOL_SCREEN_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/sampling_lease.h"
#include "live/target.h"
#include "model/error.h"
#include "report/text/resident_text.h"
#include "screen/rows.h"
#include "symbol/symbolize.h"

/* Points of the heap's history: more than any terminal has columns. */
#define MW_WATCH_POINTS 512

typedef struct mw_watch {
	const mw_target_t *target;
	mw_symbolize_options_t symbols;
	mw_names_t *names;
	mw_rows_t *rows;
	mw_fold_t fold;
	/* The last update, the one before, and the mark.  A new fold begins with their profiles. */
	struct mw_watched {
		mw_profile_t *profile;
		double at_s; /* CLOCK_MONOTONIC in seconds */
	} now, before, marked;
	char filter[64]; /* regular expression; "" = none */
	char program[64];
	uint64_t created_ns; /* creation time of the state file; execve() creates a new file */
	bool shows_wrappers;
	bool is_cpu;      /* shows CPU time, in nanoseconds where bytes are written */
	mw_lease_t lease; /* of the samples of CPU time, until the user decides otherwise */
	bool ended;       /* the process has ended; the view shows the last update */
	/* Values of the last update. */
	bool active;
	uint64_t mean_bytes; /* samples per second, if is_cpu */
	int64_t live_bytes, alloc_bytes;
	/* What all of the memory is used for; "" of CPU time. */
	char memory[MW_RESIDENT_TEXT_BYTES];
	double alloc_bytes_per_s;
	int64_t points[MW_WATCH_POINTS]; /* bytes in use, oldest first */
	size_t point_count;
	char message[160]; /* result of the last request, or why the last update failed */
	bool has_failed;
} mw_watch_t;

/* `is_cpu`: shows CPU time, and switches its samples on until mw_watch_end(). */
int mw_watch_begin(mw_watch_t *watch, const mw_target_t *target,
		   const mw_symbolize_options_t *symbols, bool is_cpu, mw_error_t *error);
void mw_watch_end(mw_watch_t *watch);

/* Reads the state file.  If the file cannot be read, `message` says why: the process may be
 * creating a new one. */
void mw_watch_refresh(mw_watch_t *watch);
/* Sets the mark: growth counts from the last update. */
void mw_watch_mark(mw_watch_t *watch);
/* Lists rows by another fold.  Growth counts from the same mark. */
void mw_watch_fold(mw_watch_t *watch, mw_fold_t fold);
/* Counts only stacks with a function, source file or module that matches, as --focus does,
 * ignoring case; "" = all stacks.  An invalid regular expression changes only `message`. */
void mw_watch_filter(mw_watch_t *watch, const char *filter);
/* Hides allocation wrappers or shows them.  Growth counts from the same mark. */
void mw_watch_toggle_wrappers(mw_watch_t *watch);
/* Switches sampling on or off, and doubles or halves the rate.  `message` has the result. */
void mw_watch_toggle(mw_watch_t *watch);
void mw_watch_set_mean(mw_watch_t *watch, uint64_t mean_bytes);

#endif
