/* SPDX-License-Identifier: MIT
 * watch.h -- what the live view knows, and how it comes by it; screen.c draws it.
 * Layer: tools/screen.  Private to this folder. */
#ifndef MW_TOOL_SCREEN_WATCH_H
#define MW_TOOL_SCREEN_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/target.h"
#include "model/error.h"
#include "screen/rows.h"
#include "symbol/symbolize.h"

/* Points of the heap's history that are kept: more than any terminal has columns. */
#define MW_WATCH_POINTS 512

typedef struct mw_watch {
	const mw_target_t *target;
	mw_symbolize_options_t symbols;
	mw_names_t *names;
	mw_rows_t *rows;
	mw_fold_t fold;
	/* As of the last look, the one before and the mark: another fold begins with these. */
	struct mw_watched {
		mw_profile_t *profile;
		double at_s; /* CLOCK_MONOTONIC */
	} now, before, marked;
	char program[64];
	uint64_t start_ticks;
	uint64_t created_ns; /* the state file; execve() has another one made */
	bool ended;          /* what is shown is the last that was seen */
	/* As of the last look. */
	bool active;
	uint64_t mean_bytes;
	int64_t live_bytes, alloc_bytes;
	uint64_t resident_bytes;
	double alloc_bytes_per_s;
	int64_t points[MW_WATCH_POINTS]; /* live bytes, oldest first */
	size_t point_count;
	char message[160]; /* of the last order, or why the last look failed */
	bool has_failed;
} mw_watch_t;

int mw_watch_begin(mw_watch_t *watch, const mw_target_t *target,
		   const mw_symbolize_options_t *symbols, mw_error_t *error);
void mw_watch_end(mw_watch_t *watch);

/* Reads the state file.  If it cannot be read, `message` says why: the process may be about to make
 * another one. */
void mw_watch_look(mw_watch_t *watch);
/* Growth counts from the last look. */
void mw_watch_mark(mw_watch_t *watch);
/* Lists by something else from now on; growth counts from the same mark. */
void mw_watch_fold(mw_watch_t *watch, mw_fold_t fold);
/* Sampling on or off, and the rate times or by two; what came of it is in `message`. */
void mw_watch_toggle(mw_watch_t *watch);
void mw_watch_set_mean(mw_watch_t *watch, uint64_t mean_bytes);

#endif
