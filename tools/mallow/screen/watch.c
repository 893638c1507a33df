/* SPDX-License-Identifier: MIT
 * watch.c -- looks at a process through its state file, and gives it orders. */
#include "screen/watch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "live/control.h"
#include "live/process.h"
#include "read/state_file.h"

/* An order is acknowledged at the process's next refill; the view does not wait longer for it. */
#define WAIT_S 0.2

static double monotonic_s(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void add_point(mw_watch_t *w, int64_t live_bytes) {
	if (w->point_count == MW_WATCH_POINTS) {
		memmove(w->points, w->points + 1, sizeof(w->points) - sizeof(w->points[0]));
		w->point_count--;
	}
	w->points[w->point_count++] = live_bytes;
}

static void take_live(mw_watch_t *w, const mw_snapshot_t *snapshot, double now_s) {
	const mw_state_live_t *live = &snapshot->live;
	int64_t alloc_bytes = live->alloc_bytes;
	if (w->looked_s > 0 && now_s > w->looked_s && alloc_bytes >= w->alloc_bytes)
		w->alloc_bytes_per_s =
			(double)(alloc_bytes - w->alloc_bytes) / (now_s - w->looked_s);
	w->active = live->active != 0;
	w->mean_bytes = live->mean_bytes;
	w->live_bytes = live->live_bytes;
	w->alloc_bytes = alloc_bytes;
	w->resident_bytes = live->resident_bytes;
	add_point(w, w->live_bytes);
}

int mw_watch_look(mw_watch_t *w, mw_error_t *error) {
	if (!mw_process_is_alive(w->target->pid, w->start_ticks)) {
		w->ended = true;
		return 0;
	}
	mw_snapshot_t *snapshot;
	if (mw_snapshot_read(w->target->path, MW_SNAPSHOT_STACKS, &snapshot, error) != 0)
		return -1;
	double now_s = monotonic_s();
	take_live(w, snapshot, now_s);
	mw_profile_t *profile = mw_profile_from_snapshot(snapshot);
	mw_snapshot_free(snapshot);
	mw_names_add(w->names, profile, &w->symbols);
	mw_rows_update(w->rows, profile, w->names, now_s);
	mw_profile_free(profile);
	w->looked_s = now_s;
	return 0;
}

int mw_watch_begin(mw_watch_t *w, const mw_target_t *target, const mw_symbolize_options_t *symbols,
		   mw_error_t *error) {
	*w = (mw_watch_t){.target = target, .symbols = *symbols};
	mw_snapshot_t *snapshot;
	if (mw_snapshot_read(target->path, MW_SNAPSHOT_HISTORY, &snapshot, error) != 0)
		return -1;
	snprintf(w->program, sizeof(w->program), "%.63s", snapshot->header.program);
	w->start_ticks = snapshot->header.start_ticks;
	for (size_t i = 0; i < snapshot->tick_count; i++)
		add_point(w, snapshot->ticks[i].live_bytes);
	mw_snapshot_free(snapshot);
	w->names = mw_names_new();
	w->rows = mw_rows_new(w->fold);
	if (mw_watch_look(w, error) == 0) {
		mw_rows_mark(w->rows);
		return 0;
	}
	mw_watch_end(w);
	return -1;
}

void mw_watch_end(mw_watch_t *w) {
	mw_rows_free(w->rows);
	mw_names_free(w->names);
}

void mw_watch_fold(mw_watch_t *w, mw_fold_t fold) {
	w->fold = fold;
	mw_rows_free(w->rows);
	w->rows = mw_rows_new(fold);
	mw_error_t error;
	if (!w->ended && mw_watch_look(w, &error) != 0)
		snprintf(w->message, sizeof(w->message), "%.159s", error.text);
	mw_rows_mark(w->rows);
}

static void order(mw_watch_t *w, const mw_order_t *what, const char *done) {
	mw_conversation_t talk;
	mw_error_t error;
	if (mw_control_order(w->target->path, w->target->shown, what, WAIT_S, &talk, &error) != 0)
		snprintf(w->message, sizeof(w->message), "%.159s", error.text);
	else
		snprintf(w->message, sizeof(w->message), "%s%s", done,
			 talk.outcome == MW_OUTCOME_PENDING ? ", at the process's next refill"
							    : "");
}

void mw_watch_toggle(mw_watch_t *w) {
	mw_order_t what = {.kind = w->active ? MW_ORDER_STOP : MW_ORDER_START};
	order(w, &what, w->active ? "sampling off" : "sampling on");
}

void mw_watch_set_mean(mw_watch_t *w, uint64_t mean_bytes) {
	mw_order_t what = {.kind = MW_ORDER_RATE, .mean_bytes = mean_bytes};
	order(w, &what, "the rate is set");
}
