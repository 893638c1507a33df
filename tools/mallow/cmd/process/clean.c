/* SPDX-License-Identifier: MIT
 * clean.c -- `mallow clean`: removes the state files of processes that have ended. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/complain.h"
#include "cli/print.h"
#include "cmd/input/selected_processes.h"
#include "cmd/process/process_commands.h"
#include "live/target.h"
#include "model/memory.h"
#include "report/text/units.h"

typedef struct dead_file {
	const mw_place_t *place;
	uint64_t updated_ns;
	int64_t held_bytes;
	char program[64];
} dead_file_t;

/* Orders files by time, the latest first. */
static int compare(const void *a, const void *b) {
	const dead_file_t *left = a, *right = b;
	return (left->updated_ns < right->updated_ns) - (left->updated_ns > right->updated_ns);
}

/* A file that cannot be read is useless, so it is removed first, as the oldest. */
static dead_file_t describe(const mw_place_t *place) {
	dead_file_t file = {.place = place, .program = "?"};
	struct stat info;
	mw_snapshot_t *snapshot;
	mw_error_t error;
	if (stat(place->path, &info) == 0)
		file.held_bytes = (int64_t)info.st_blocks * 512;
	if (mw_snapshot_read(place->path, 0, &snapshot, &error) != 0)
		return file;
	file.updated_ns = snapshot->live.updated_realtime_ns;
	snprintf(file.program, sizeof(file.program), "%s", snapshot->header.program);
	mw_snapshot_free(snapshot);
	return file;
}

static size_t find_dead(const mw_places_t *places, const mw_filter_t *filter, dead_file_t *list) {
	size_t count = 0;
	for (size_t i = 0; i < places->count; i++) {
		const mw_place_t *place = &places->items[i];
		/* Whether a process of another pid namespace runs is not known here. */
		if (place->alive || place->by_map || mw_place_is_begun(place))
			continue;
		dead_file_t file = describe(place);
		if (mw_filter_matches(filter, place, file.program))
			list[count++] = file;
	}
	qsort(list, count, sizeof(*list), compare);
	return count;
}

static void say(const dead_file_t *file, bool dry) {
	char time_text[MW_SHOW_BYTES], bytes[MW_SHOW_BYTES], program[64];
	printf("%s %s (pid %d), last seen %s, %s\n", dry ? "would remove" : "removed",
	       mw_show_text(file->program, program, sizeof(program)), file->place->pid,
	       mw_show_time(file->updated_ns, time_text),
	       mw_format_bytes(file->held_bytes, bytes, sizeof(bytes)));
}

static void remove_dead(const mw_arguments_t *arguments, const dead_file_t *list, size_t count) {
	const mw_seconds_value_t *older = &arguments->options.older;
	const mw_number_value_t *keep = &arguments->options.keep;
	bool dry = arguments->options.dry_run.given;
	uint64_t now_ns = mw_now_ns();
	size_t removed = 0;
	int64_t freed_bytes = 0;
	for (size_t i = keep->given ? keep->number : 0; i < count; i++) {
		const dead_file_t *file = &list[i];
		if (older->given && now_ns - file->updated_ns < (uint64_t)(older->seconds * 1e9))
			continue;
		if (!dry && mw_place_remove(file->place) != 0) {
			if (errno == EBUSY)
				continue; /* a process has it since */
			mw_complain("%s: cannot remove: %s", file->place->shown, strerror(errno));
			continue;
		}
		say(file, dry);
		removed++;
		freed_bytes += file->held_bytes;
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
	dead_file_t *list = mw_xcalloc(places.count + 1, sizeof(*list));
	size_t count = find_dead(&places, filter, list);
	remove_dead(arguments, list, count);
	free(list);
	mw_places_release(&places);
	mw_filter_free(filter);
	return MW_EXIT_FINE;
}
