/* SPDX-License-Identifier: MIT
 * moments.c -- --since, --alive-at and --made-between: compare a process with its past. */
#include "cmd/marks/moments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/complain.h"
#include "cli/print.h"
#include "cmd/input/load.h"
#include "cmd/marks/marks.h"
#include "cmd/store/moment.h"
#include "model/memory.h"

/* Paths of the marks that --since and --alive-at found, and the name of the first mark in
 * pictures. */
static char *since_path, *alive_path, since_name[MW_SHOW_BYTES + 32];

/* Time of allocation: from `from_ns` on and before `until_ns` (CLOCK_REALTIME). */
typedef struct window {
	int64_t from_ns, until_ns;
	bool is_needed;
} window_t;

static int take_since(const char *when, mw_inputs_t *inputs, window_t *window, mw_error_t *error) {
	char time[MW_SHOW_BYTES];
	int64_t time_ns;
	if (inputs->base_count > 0 || inputs->target_count != 1)
		return mw_error_set(
			error,
			"--since takes exactly one process, and cannot be combined with --base");
	if (mw_mark_find(inputs->targets[0], "since", when, &since_path, &time_ns, error) != 0)
		return -1;
	mw_show_time((uint64_t)time_ns, time);
	snprintf(since_name, sizeof(since_name), "its state at %s", time);
	if (since_path != NULL) {
		inputs->bases = (const char *const *)&since_path;
		inputs->base_count = 1;
		inputs->is_diff = true;
		return 0;
	}
	window->from_ns = time_ns;
	window->is_needed = true;
	inputs->is_diff = false;
	mw_complain("note: no mark was set at %s: the view holds objects allocated since then that "
		    "are still live, but not what was freed since; 'mallow mark' sets a mark for "
		    "the next time",
		    time);
	return 0;
}

/* Replaces the process by the mark.  If there is no mark, keeps the objects of that time that
 * are still live. */
static int take_alive(const char *when, mw_inputs_t *inputs, window_t *window, mw_error_t *error) {
	char time[MW_SHOW_BYTES];
	int64_t time_ns;
	if (strcmp(when, "now") == 0)
		return 0;
	if (inputs->target_count != 1)
		return mw_error_set(error, "--alive-at takes exactly one process");
	if (mw_mark_find(inputs->targets[0], "alive-at", when, &alive_path, &time_ns, error) != 0)
		return -1;
	if (alive_path != NULL) {
		inputs->targets = (const char *const *)&alive_path;
		return 0;
	}
	mw_show_time((uint64_t)time_ns, time);
	if (since_path != NULL)
		return mw_error_set(error,
				    "--alive-at: no mark was set at %s to compare with the mark of "
				    "--since; 'mallow mark' lists the marks",
				    time);
	if (time_ns < window->until_ns)
		window->until_ns = time_ns;
	window->is_needed = true;
	mw_complain("note: no mark was set at %s: the view holds objects allocated before then "
		    "that are still live, but not what was freed since; 'mallow mark' sets a mark "
		    "for the next time",
		    time);
	return 0;
}

/* Finds a time, or the time of a mark of the process. */
static bool find_moment(const char *text, const mw_inputs_t *inputs, int64_t *time_ns) {
	char *path = NULL;
	mw_error_t error;
	if (mw_moment_parse(text, (int64_t)mw_now_ns(), time_ns))
		return true;
	bool found = inputs->target_count == 1 && mw_mark_find(inputs->targets[0], "made-between",
							       text, &path, time_ns, &error) == 0;
	free(path);
	return found;
}

/* Parses "10m,5m", "14:30,now", "before-load,after-load". */
static int take_window(const char *text, const mw_inputs_t *inputs, window_t *window,
		       mw_error_t *error) {
	char from[64];
	const char *comma = strchrnul(text, ',');
	snprintf(from, sizeof(from), "%.*s", (int)(comma - text), text);
	window->is_needed = true;
	if (*comma != '\0' && find_moment(from, inputs, &window->from_ns) &&
	    find_moment(comma + 1, inputs, &window->until_ns) && window->from_ns < window->until_ns)
		return 0;
	return mw_error_set(error,
			    "--made-between does not take '%s'; allowed: two times or marks, the "
			    "earlier first, such as 10m,5m (ago) or 14:30,now",
			    text);
}

int mw_moments_take(const mw_arguments_t *arguments, mw_inputs_t *inputs, mw_error_t *error) {
	const char *since = arguments->options.since.text;
	const char *alive = arguments->options.alive_at.text;
	const char *between = arguments->options.made_between.text;
	window_t window = {0, INT64_MAX, false};
	free(since_path);
	free(alive_path);
	since_path = alive_path = NULL;
	mw_load_set_window(0, 0);
	if (since != NULL && between != NULL)
		return mw_error_set(error,
				    "--since and --made-between cannot be combined; leave one out");
	if ((between != NULL && take_window(between, inputs, &window, error) != 0) ||
	    (since != NULL && take_since(since, inputs, &window, error) != 0) ||
	    (alive != NULL && take_alive(alive, inputs, &window, error) != 0))
		return -1;
	if (window.is_needed)
		mw_load_set_window(window.from_ns, window.until_ns);
	return 0;
}

char *mw_moments_base(void) {
	return since_path != NULL ? mw_xstrdup(since_name) : NULL;
}
