/* SPDX-License-Identifier: MIT
 * clean.c -- `mallow clean`: removes the state files of processes that have ended. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/select.h"
#include "cmd/show.h"
#include "live/target.h"
#include "model/alloc.h"
#include "report/report.h"

typedef struct stale {
	const mw_place_t *place;
	uint64_t updated_ns;
	int64_t held_bytes;
	char program[64];
} stale_t;

/* The latest first. */
static int compare(const void *a, const void *b) {
	const stale_t *left = a, *right = b;
	return (left->updated_ns < right->updated_ns) - (left->updated_ns > right->updated_ns);
}

/* What cannot be read is of no use to anybody: it goes as the oldest. */
static stale_t describe(const mw_place_t *place) {
	stale_t stale = {.place = place, .program = "?"};
	struct stat info;
	mw_snapshot_t *snapshot;
	mw_error_t error;
	if (stat(place->path, &info) == 0)
		stale.held_bytes = (int64_t)info.st_blocks * 512;
	if (mw_snapshot_read(place->path, 0, &snapshot, &error) != 0)
		return stale;
	stale.updated_ns = snapshot->live.updated_realtime_ns;
	snprintf(stale.program, sizeof(stale.program), "%s", snapshot->header.program);
	mw_snapshot_free(snapshot);
	return stale;
}

static size_t find_stale(const mw_places_t *places, const mw_filter_t *filter, stale_t *list) {
	size_t count = 0;
	for (size_t i = 0; i < places->count; i++) {
		const mw_place_t *place = &places->items[i];
		/* Of another pid namespace it is not known here what lives. */
		if (place->alive || place->by_map)
			continue;
		stale_t stale = describe(place);
		if (mw_filter_matches(filter, place, stale.program))
			list[count++] = stale;
	}
	qsort(list, count, sizeof(*list), compare);
	return count;
}

static void say(const stale_t *stale, bool dry) {
	char time_text[MW_SHOW_BYTES], bytes[MW_SHOW_BYTES], program[64];
	printf("%s %s (pid %d), last seen %s, %s\n", dry ? "would remove" : "removed",
	       mw_show_text(stale->program, program, sizeof(program)), stale->place->pid,
	       mw_show_time(stale->updated_ns, time_text),
	       mw_format_bytes(stale->held_bytes, bytes, sizeof(bytes)));
}

static void remove_stale(const mw_arguments_t *arguments, const stale_t *list, size_t count) {
	const mw_option_value_t *older = mw_argument(arguments, "older");
	const mw_option_value_t *keep = mw_argument(arguments, "keep");
	bool dry = mw_argument(arguments, "dry-run")->given;
	uint64_t now_ns = mw_now_ns();
	size_t removed = 0;
	int64_t freed_bytes = 0;
	for (size_t i = keep->given ? keep->number : 0; i < count; i++) {
		const stale_t *stale = &list[i];
		if (older->given && now_ns - stale->updated_ns < (uint64_t)(older->seconds * 1e9))
			continue;
		if (!dry)
			mw_place_remove(stale->place);
		say(stale, dry);
		removed++;
		freed_bytes += stale->held_bytes;
	}
	char bytes[MW_SHOW_BYTES];
	printf("%zu of %zu state files %s, %s\n", removed, count,
	       dry ? "would be removed" : "removed",
	       mw_format_bytes(freed_bytes, bytes, sizeof(bytes)));
}

int mw_cmd_clean(const mw_arguments_t *arguments) {
	mw_filter_t *filter;
	if (!mw_filter_make(arguments, &filter))
		return MW_EXIT_TROUBLE;
	mw_places_t places = {0};
	mw_places_add_all(&places);
	stale_t *list = mw_xcalloc(places.count + 1, sizeof(*list));
	size_t count = find_stale(&places, filter, list);
	remove_stale(arguments, list, count);
	free(list);
	mw_places_release(&places);
	mw_filter_free(filter);
	return MW_EXIT_FINE;
}
