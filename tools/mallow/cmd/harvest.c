/* SPDX-License-Identifier: MIT
 * harvest.c -- the processes of a run, found by the session in their state files. */
#include "cmd/harvest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/load.h"
#include "cmd/show.h"
#include "live/places.h"
#include "live/program.h"
#include "model/alloc.h"
#include "report/report.h"

/* Without a directory of its own, a run may leave this many profiles of other processes beside the
 * program's, and name this many on the screen. */
#define OTHER_PROFILES_MAX 16
#define OTHER_LINES_MAX 16
/* Two tables of it and the rest fit on 24 lines. */
#define SUMMARY_ROWS 7

typedef struct member {
	const mw_place_t *place;
	mw_snapshot_t *snapshot; /* without stacks */
} member_t;

typedef struct members {
	member_t *items;
	size_t count;
} members_t;

/* The run's processes; of another session, or unreadable: not in the list. */
static members_t find_members(const mw_places_t *places, const char *session) {
	members_t members = {.items = mw_xcalloc(places->count + 1, sizeof(member_t))};
	for (size_t i = 0; i < places->count; i++) {
		const mw_place_t *place = &places->items[i];
		mw_snapshot_t *snapshot;
		if (place->owner != geteuid() ||
		    mw_snapshot_read(place->path, 0, &snapshot, NULL) != 0)
			continue;
		if (strcmp(snapshot->header.session, session) == 0)
			members.items[members.count++] = (member_t){place, snapshot};
		else
			mw_snapshot_free(snapshot);
	}
	return members;
}

static void members_release(members_t *members) {
	for (size_t i = 0; i < members->count; i++)
		mw_snapshot_free(members->items[i].snapshot);
	free(members->items);
}

void mw_harvest_prune(void *context) {
	mw_places_t places = {0};
	mw_places_add_directories(&places);
	members_t members = find_members(&places, context);
	for (size_t i = 0; i < members.count; i++)
		if (!members.items[i].place->alive && members.items[i].snapshot->live.samples == 0)
			mw_place_remove(members.items[i].place);
	members_release(&members);
	mw_places_release(&places);
}

/* Largest first by what was allocated. */
static int compare_members(const void *a, const void *b) {
	const member_t *left = a, *right = b;
	int64_t left_bytes = left->snapshot->live.alloc_bytes;
	int64_t right_bytes = right->snapshot->live.alloc_bytes;
	return (left_bytes < right_bytes) - (left_bytes > right_bytes);
}

static bool is_program(const mw_harvest_t *harvest, const member_t *member) {
	return member->place->pid == harvest->launch->pid &&
	       member->place->start_ticks == harvest->launch->start_ticks;
}

/* Writes the profile; the caller frees the path.  NULL: it complained, and the state file stays. */
static char *write_member(const mw_harvest_t *harvest, const member_t *member, const char *file,
			  mw_profile_t **out_profile) {
	mw_target_t target = {
		.path = member->place->path,
		.shown = member->place->shown,
		.is_state = true,
		.pid = member->place->pid,
	};
	mw_error_t error;
	mw_profile_t *profile;
	if (mw_load(&target, MW_LOAD_SYMBOLS, &profile, &error) != 0) {
		mw_complain("pid %d: no profile: %s", target.pid, error.text);
		return NULL;
	}
	char *path = NULL;
	if (file) {
		path = mw_xstrdup(file);
	} else {
		char *name = mw_profile_file_name(member->snapshot->header.program,
						  (unsigned)target.pid, mw_now_ns(), ".pb.gz");
		size_t size = strlen(harvest->directory) + strlen(name) + 2;
		path = mw_xcalloc(size, 1);
		bool here = strcmp(harvest->directory, ".") == 0;
		snprintf(path, size, "%s%s%s", here ? "" : harvest->directory, here ? "" : "/",
			 name);
		free(name);
	}
	if (mw_write_profile(profile, path, mw_format_of_name(path), MW_GZIP_BY_NAME, &error) !=
	    0) {
		mw_complain("%s; the profile is still there: mallow report %s", error.text,
			    member->place->shown);
		free(path);
		path = NULL;
	} else {
		mw_place_remove(member->place);
	}
	if (path && out_profile)
		*out_profile = profile;
	else
		mw_profile_free(profile);
	return path;
}

static void print_table(const mw_profile_t *profile, const char *type, const char *title) {
	mw_report_options_t options = {
		.sample_type = type,
		.row_limit = SUMMARY_ROWS,
		.columns = mw_terminal_columns(stderr),
		.no_header = true,
	};
	mw_error_t error;
	fprintf(stderr, "%s:\n", title);
	if (mw_report_print(stderr, profile, &options, &error) != 0)
		mw_complain("%s", error.text);
}

static void print_end(const mw_harvest_t *harvest, const char *program) {
	char duration[MW_SHOW_BYTES], program_text[64];
	int status = harvest->launch->wait_status;
	mw_show_text(program, program_text, sizeof(program_text));
	mw_show_duration(harvest->launch->wall_ns, duration);
	if (WIFSIGNALED(status))
		mw_complain("%s (pid %d) was ended by signal %d (%s) after %s", program_text,
			    harvest->launch->pid, WTERMSIG(status), strsignal(WTERMSIG(status)),
			    duration);
	else
		mw_complain("%s (pid %d) ended after %s with status %d", program_text,
			    harvest->launch->pid, duration, WEXITSTATUS(status));
}

static void print_totals(const mw_state_live_t *live) {
	char live_bytes[MW_SHOW_BYTES], live_objects[MW_SHOW_BYTES], alloc_bytes[MW_SHOW_BYTES];
	char alloc_objects[MW_SHOW_BYTES], rate[MW_SHOW_BYTES], samples[MW_SHOW_BYTES];
	mw_complain(
		"live at the end: %s in %s objects; allocated in all: %s in %s objects",
		mw_format_bytes(live->live_bytes, live_bytes, sizeof(live_bytes)),
		mw_format_count(live->live_objects_q16 / 65536, live_objects, sizeof(live_objects)),
		mw_format_bytes(live->alloc_bytes, alloc_bytes, sizeof(alloc_bytes)),
		mw_format_count(live->alloc_objects_q16 / 65536, alloc_objects,
				sizeof(alloc_objects)));
	mw_complain("%s samples, T = %s%s",
		    mw_format_count((int64_t)live->samples, samples, sizeof(samples)),
		    mw_show_rate(live->mean_bytes, rate),
		    live->mean_bytes == 1 ? "" : ": the numbers are estimates");
}

static void harvest_program(const mw_harvest_t *harvest, const member_t *member) {
	const mw_state_live_t *live = &member->snapshot->live;
	print_end(harvest, member->snapshot->header.program);
	print_totals(live);
	mw_show_flags(stderr, "mallow: note: ", live->flags);
	mw_profile_t *profile;
	char *path = write_member(harvest, member, harvest->file, &profile);
	if (!path)
		return;
	if (live->live_bytes > 0)
		print_table(profile, "inuse_space", "live at the end, by function");
	/* A program that frees all it took is known by what it allocated. */
	if (live->alloc_bytes > 2 * live->live_bytes)
		print_table(profile, "alloc_space", "allocated in all, by function");
	mw_complain("profile written: %s", path);
	mw_complain("'mallow report %s' shows all of it, also with --lines", path);
	mw_profile_free(profile);
	free(path);
}

static void print_other(const member_t *member, const char *path) {
	char bytes[MW_SHOW_BYTES], program[64];
	mw_complain("  %s (pid %d), allocated %s: %s",
		    mw_show_text(member->snapshot->header.program, program, sizeof(program)),
		    member->place->pid,
		    mw_format_bytes(member->snapshot->live.alloc_bytes, bytes, sizeof(bytes)),
		    path);
}

/* The processes the program started, largest first. */
static void harvest_others(const mw_harvest_t *harvest, const members_t *members) {
	size_t written = 0, left_out = 0;
	for (size_t i = 0; i < members->count; i++) {
		const member_t *member = &members->items[i];
		if (is_program(harvest, member))
			continue;
		if (member->place->alive) {
			mw_complain("pid %d is still running: mallow report %d", member->place->pid,
				    member->place->pid);
			continue;
		}
		if (member->snapshot->live.samples == 0 ||
		    (written >= OTHER_PROFILES_MAX && !harvest->every_process)) {
			left_out += member->snapshot->live.samples != 0;
			mw_place_remove(member->place);
			continue;
		}
		char *path = write_member(harvest, member, NULL, NULL);
		if (!path)
			continue;
		if (written == 0)
			mw_complain("other processes of this run:");
		if (written < OTHER_LINES_MAX)
			print_other(member, path);
		written++;
		free(path);
	}
	if (written > OTHER_LINES_MAX)
		mw_complain("  and %zu more in %s", written - OTHER_LINES_MAX, harvest->directory);
	if (left_out > 0)
		mw_complain("  %zu smaller ones left out: 'mallow run -o DIR/' writes them all",
			    left_out);
}

/* Why the program left no state file. */
static void explain_none(const mw_harvest_t *harvest) {
	char path[4096];
	print_end(harvest, harvest->program);
	const char *why = NULL;
	if (mw_program_find(harvest->program, path, sizeof(path)))
		why = mw_program_refuses_preload(path);
	if (why)
		mw_complain("no profile: %s: %s", path, why);
	else
		mw_complain(
			"no profile: %s left no state file: either it did not load "
			"libmallow.so (its environment was cleaned, or it executed a static or "
			"set-uid program), or neither /dev/shm nor the runtime directory can be "
			"written",
			harvest->program);
}

void mw_harvest(const mw_harvest_t *harvest) {
	mw_places_t places = {0};
	mw_places_add_directories(&places);
	members_t members = find_members(&places, harvest->session);
	qsort(members.items, members.count, sizeof(members.items[0]), compare_members);
	const member_t *program = NULL;
	for (size_t i = 0; i < members.count && !program; i++)
		if (is_program(harvest, &members.items[i]))
			program = &members.items[i];
	if (program)
		harvest_program(harvest, program);
	else
		explain_none(harvest);
	harvest_others(harvest, &members);
	members_release(&members);
	mw_places_release(&places);
}
