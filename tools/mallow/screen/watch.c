/* SPDX-License-Identifier: MIT
 * watch.c -- reads a process's state file and sends requests to the process. */
#include "screen/watch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/state/state_file.h"
#include "live/control.h"
#include "live/process/process.h"
#include "live/process/resident_memory.h"
#include "model/monotonic.h"
#include "view/select/pattern.h"

/* Longest wait for the acknowledgement of a request, which comes at the process's next refill. */
#define WAIT_S 0.2
/* Samples of CPU time per second, as `mallow cpu` takes them. */
#define CPU_HZ 100

static void add_point(mw_watch_t *w, int64_t live_bytes) {
	if (w->point_count == MW_WATCH_POINTS) {
		memmove(w->points, w->points + 1, sizeof(w->points) - sizeof(w->points[0]));
		w->point_count--;
	}
	w->points[w->point_count++] = live_bytes;
}

static void take_live(mw_watch_t *w, const mw_snapshot_t *snapshot, double now_s) {
	const mw_state_live_t *live = &snapshot->live;
	int64_t cpu_ns = (int64_t)(live->cpu_ns > 0 ? live->cpu_ns : live->wall_ns);
	int64_t alloc_bytes = w->is_cpu ? cpu_ns : live->alloc_bytes;
	if (w->now.at_s > 0 && now_s > w->now.at_s && alloc_bytes >= w->alloc_bytes)
		w->alloc_bytes_per_s =
			(double)(alloc_bytes - w->alloc_bytes) / (now_s - w->now.at_s);
	w->active = w->is_cpu ? live->cpu_hz != 0 : live->active != 0;
	w->mean_bytes = w->is_cpu ? mw_cpu_hz(live->cpu_hz) : live->mean_bytes;
	w->live_bytes = w->is_cpu ? cpu_ns : live->live_bytes;
	w->alloc_bytes = alloc_bytes;
	add_point(w, w->is_cpu ? (int64_t)w->alloc_bytes_per_s : w->live_bytes);
}

/* Frees a profile unless the last update, the one before, or the mark uses it. */
static void drop(const mw_watch_t *w, mw_profile_t *p) {
	if (p != NULL && p != w->now.profile && p != w->before.profile && p != w->marked.profile)
		mw_profile_free(p);
}

static void forget_profiles(mw_watch_t *w) {
	mw_profile_t *profiles[] = {w->now.profile, w->before.profile, w->marked.profile};
	w->now = w->before = w->marked = (struct mw_watched){0};
	for (int i = 0; i < 3; i++)
		if (profiles[i] != NULL && (i < 1 || profiles[i] != profiles[0]) &&
		    (i < 2 || profiles[i] != profiles[1]))
			mw_profile_free(profiles[i]);
}

static void begin_rows(mw_watch_t *w) {
	if (w->rows != NULL)
		mw_rows_free(w->rows);
	w->rows = mw_rows_new(w->fold);
}

static bool set_focus(mw_watch_t *w, const char *filter) {
	mw_error_t error;
	mw_pattern_t *pattern = NULL;
	char text[sizeof(w->filter) + 8] = "";
	if (*filter != '\0')
		snprintf(text, sizeof(text), "(?i)%s", filter);
	if (mw_pattern_make("filter", text, &pattern, &error) != 0) {
		snprintf(w->message, sizeof(w->message), "%.159s", error.text);
		return false;
	}
	mw_names_focus(w->names, pattern);
	return true;
}

/* Begins again after execve(): addresses of another program have other names. */
static void begin_program(mw_watch_t *w, const mw_state_header_t *header) {
	forget_profiles(w);
	if (w->names != NULL)
		mw_names_free(w->names);
	w->names = mw_names_new();
	mw_names_show_wrappers(w->names, w->shows_wrappers);
	set_focus(w, w->filter);
	begin_rows(w);
	w->point_count = 0;
	w->alloc_bytes_per_s = 0;
	w->created_ns = header->created_realtime_ns;
	snprintf(w->program, sizeof(w->program), "%.63s", header->program);
}

void mw_watch_mark(mw_watch_t *w) {
	mw_profile_t *old = w->marked.profile;
	w->marked = w->now;
	drop(w, old);
	mw_rows_mark(w->rows);
}

/* The heap is as of its last walk: what it has mapped since then counts as unexplained. */
static void take_memory(mw_watch_t *w, const mw_snapshot_t *snapshot, const mw_profile_t *p) {
	mw_memory_t memory;
	mw_error_t error;
	mw_resident_t resident = p->origin.resident;
	if (mw_target_process(w->target) > 0 &&
	    mw_memory_read(w->target->pid, snapshot, &memory, &error) == 0)
		resident = mw_memory_parts(&memory);
	mw_resident_text(&resident, mw_arenas_of_profile(p), w->memory);
}

static int look(mw_watch_t *w, mw_error_t *error) {
	mw_snapshot_t *snapshot;
	unsigned what = MW_SNAPSHOT_STACKS | (w->is_cpu ? MW_SNAPSHOT_CPU : MW_SNAPSHOT_HEAP_WALK);
	if (mw_target_read(w->target, what, &snapshot, error) != 0)
		return -1;
	if (snapshot->header.created_realtime_ns != w->created_ns)
		begin_program(w, &snapshot->header);
	double now_s = mw_monotonic_seconds();
	take_live(w, snapshot, now_s);
	mw_profile_t *profile =
		w->is_cpu ? mw_profile_of_cpu(snapshot) : mw_profile_from_snapshot(snapshot);
	if (!w->is_cpu)
		take_memory(w, snapshot, profile);
	mw_snapshot_free(snapshot);
	mw_names_add(w->names, profile, &w->symbols);
	mw_rows_update(w->rows, profile, w->names, now_s);
	mw_profile_t *old = w->before.profile;
	w->before = w->now;
	w->now = (struct mw_watched){profile, now_s};
	drop(w, old);
	if (w->marked.profile == NULL)
		mw_watch_mark(w);
	return 0;
}

void mw_watch_refresh(mw_watch_t *w) {
	mw_error_t error;
	if (w->lease.fd >= 0)
		mw_lease_keep(&w->lease);
	if (!mw_target_is_alive(w->target)) {
		w->ended = true;
	} else if (look(w, &error) != 0) {
		w->has_failed = true;
		snprintf(w->message, sizeof(w->message), "%.159s", error.text);
	} else if (w->has_failed) {
		w->has_failed = false;
		w->message[0] = '\0';
	}
}

int mw_watch_begin(mw_watch_t *w, const mw_target_t *target, const mw_symbolize_options_t *symbols,
		   bool is_cpu, mw_error_t *error) {
	/* CPU time belongs to the function that used it: no wrapper is hidden. */
	*w = (mw_watch_t){.target = target,
			  .symbols = *symbols,
			  .is_cpu = is_cpu,
			  .lease.fd = -1,
			  .fold = is_cpu ? MW_FOLD_FUNCTION : MW_FOLD_STACK,
			  .shows_wrappers = is_cpu};
	mw_snapshot_t *snapshot;
	if (mw_target_read(target, MW_SNAPSHOT_HISTORY, &snapshot, error) != 0)
		return -1;
	begin_program(w, &snapshot->header);
	for (size_t i = 0; i < snapshot->tick_count && !is_cpu; i++)
		add_point(w, snapshot->ticks[i].live_bytes);
	/* Another command may sample already, what it likes: its samples are shown. */
	uint32_t rate = snapshot->live.cpu_hz != 0 ? snapshot->live.cpu_hz : CPU_HZ;
	mw_reply_t reply;
	mw_snapshot_free(snapshot);
	if ((!is_cpu || mw_lease_begin(&w->lease, target, rate, WAIT_S, &reply, error) == 0) &&
	    look(w, error) == 0)
		return 0;
	mw_watch_end(w);
	return -1;
}

void mw_watch_end(mw_watch_t *w) {
	mw_lease_end(&w->lease, NULL);
	forget_profiles(w);
	mw_rows_free(w->rows);
	mw_names_free(w->names);
}

static void replay(mw_watch_t *w, const struct mw_watched *seen) {
	mw_rows_update(w->rows, seen->profile, w->names, seen->at_s);
}

void mw_watch_fold(mw_watch_t *w, mw_fold_t fold) {
	w->fold = fold;
	begin_rows(w);
	replay(w, &w->marked);
	mw_rows_mark(w->rows);
	if (w->before.profile != NULL && w->before.at_s > w->marked.at_s)
		replay(w, &w->before);
	if (w->now.at_s > w->marked.at_s)
		replay(w, &w->now);
}

void mw_watch_filter(mw_watch_t *w, const char *filter) {
	if (!set_focus(w, filter))
		return;
	snprintf(w->filter, sizeof(w->filter), "%s", filter);
	w->message[0] = '\0';
	mw_watch_fold(w, w->fold);
}

void mw_watch_toggle_wrappers(mw_watch_t *w) {
	w->shows_wrappers = !w->shows_wrappers;
	mw_names_show_wrappers(w->names, w->shows_wrappers);
	snprintf(w->message, sizeof(w->message), "allocation wrappers are %s",
		 w->shows_wrappers ? "shown" : "hidden: their callers count");
	mw_watch_fold(w, w->fold);
}

static void request(mw_watch_t *w, const mw_request_t *what, const char *done) {
	mw_reply_t reply;
	mw_error_t error;
	if (mw_control_send(w->target, what, WAIT_S, &reply, &error) != 0)
		snprintf(w->message, sizeof(w->message), "%.159s", error.text);
	else
		snprintf(w->message, sizeof(w->message), "%s%s", done,
			 reply.outcome == MW_OUTCOME_PENDING ? ", once the process allocates" : "");
}

void mw_watch_toggle(mw_watch_t *w) {
	mw_request_t what = {.kind = w->is_cpu   ? MW_REQUEST_CPU
				     : w->active ? MW_REQUEST_STOP
						 : MW_REQUEST_START,
			     .cpu_hz = w->active ? 0 : CPU_HZ};
	if (w->is_cpu) /* the user decides from now on */
		mw_lease_end(&w->lease, NULL);
	request(w, &what, w->active ? "sampling off" : "sampling on");
}

/* Begins the lease again with another rate. */
static void change_lease(mw_watch_t *w, uint32_t rate) {
	mw_reply_t reply;
	mw_error_t error;
	mw_lease_end(&w->lease, NULL);
	if (mw_lease_begin(&w->lease, w->target, rate, WAIT_S, &reply, &error) != 0)
		snprintf(w->message, sizeof(w->message), "%.159s", error.text);
	else
		snprintf(w->message, sizeof(w->message), "the rate is %s",
			 w->lease.rate == rate ? "set" : "that of another mallow, which samples");
}

void mw_watch_set_mean(mw_watch_t *w, uint64_t mean_bytes) {
	if (w->is_cpu && w->lease.fd >= 0) {
		change_lease(w, (uint32_t)mean_bytes);
		return;
	}
	mw_request_t what = {.kind = w->is_cpu ? MW_REQUEST_CPU : MW_REQUEST_RATE,
			     .mean_bytes = mean_bytes,
			     .cpu_hz = (uint32_t)mean_bytes};
	request(w, &what, "the rate is set");
}
