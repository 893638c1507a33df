/* SPDX-License-Identifier: MIT
 * harvest.c -- the processes of a run, found by the session in their state files. */
#include "cmd/harvest.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/load.h"
#include "cmd/show.h"
#include "cmd/terminal.h"
#include "live/places.h"
#include "live/process.h"
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

/* A state file without a name goes with its process, and one with a name may be cleaned away by the
 * next thousand processes: an open descriptor keeps either. */
static void hold_state_file(mw_harvest_t *harvest, int pid) {
	mw_places_t places = {0};
	mw_places_add_process(&places, pid);
	if (places.count > 0)
		harvest->held_fd = open(places.items[0].path, O_RDONLY | O_CLOEXEC);
	mw_places_release(&places);
}

void mw_harvest_tick(mw_harvest_t *harvest, int pid) {
	if (!harvest->library_seen)
		harvest->library_seen = mw_process_has_library(pid);
	if (harvest->library_seen && harvest->held_fd < 0)
		hold_state_file(harvest, pid);
	mw_places_t places = {0};
	mw_places_add_directories(&places);
	members_t members = find_members(&places, harvest->session);
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
	/* With labels: nobody waits for this profile while a program runs. */
	if (mw_load(&target, MW_LOAD_SYMBOLS, MW_LOAD_SPLIT, &profile, &error) != 0) {
		mw_complain("pid %d: no profile: %s", target.pid, error.text);
		return NULL;
	}
	char *path = NULL;
	if (file) {
		path = mw_xstrdup(file);
	} else {
		bool here = strcmp(harvest->directory, ".") == 0;
		path = mw_profile_path(here ? NULL : harvest->directory,
				       member->snapshot->header.program, (unsigned)target.pid,
				       mw_now_ns(), ".pb.gz");
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

/* "6.31 MiB in 120 objects"; exact figures are given to the byte. */
static const char *amount(int64_t bytes, int64_t objects_q16, bool exact, char *buffer,
			  size_t size) {
	char bytes_text[MW_SHOW_BYTES], objects_text[MW_SHOW_BYTES], exactly[MW_SHOW_BYTES] = "";
	if (exact && bytes >= 1024)
		snprintf(exactly, sizeof(exactly), " (%" PRId64 " bytes)", bytes);
	snprintf(buffer, size, "%s%s in %s objects",
		 mw_format_bytes(bytes, bytes_text, sizeof(bytes_text)), exactly,
		 mw_format_count(objects_q16 / 65536, objects_text, sizeof(objects_text)));
	return buffer;
}

static void print_totals(const mw_state_live_t *live) {
	char in_use[4 * MW_SHOW_BYTES], in_all[4 * MW_SHOW_BYTES];
	char rate[MW_SHOW_BYTES], samples[MW_SHOW_BYTES];
	bool exact = live->mean_bytes == 1;
	mw_complain(
		"live at the end: %s; allocated in all: %s",
		amount(live->live_bytes, live->live_objects_q16, exact, in_use, sizeof(in_use)),
		amount(live->alloc_bytes, live->alloc_objects_q16, exact, in_all, sizeof(in_all)));
	mw_complain("%s samples, T = %s%s",
		    mw_format_count((int64_t)live->samples, samples, sizeof(samples)),
		    mw_show_rate(live->mean_bytes, rate),
		    exact ? "" : ": the numbers are estimates");
}

/* Why the state file of the program holds no sample. */
static void explain_empty(const member_t *member) {
	const mw_state_live_t *live = &member->snapshot->live;
	char rate[MW_SHOW_BYTES], program[64];
	mw_show_text(member->snapshot->header.program, program, sizeof(program));
	if (!live->active)
		mw_complain("no profile: %s was not sampled: sampling was off", program);
	else if (live->flags & (MW_STATE_ENDED | MW_STATE_LEFT))
		mw_complain("no profile: %s allocated too little for a sample (T = %s); --exact "
			    "samples every allocation",
			    program, mw_show_rate(live->mean_bytes, rate));
	else
		mw_complain("no profile: %s took no sample (T = %s; --exact samples every "
			    "allocation) before it ended, or executed a program that did not load "
			    "libmallow.so",
			    program, mw_show_rate(live->mean_bytes, rate));
}

static void harvest_program(const mw_harvest_t *harvest, const member_t *member) {
	const mw_state_live_t *live = &member->snapshot->live;
	if (live->samples == 0 && !harvest->file) {
		explain_empty(member);
		mw_place_remove(member->place);
		return;
	}
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

/* Their profiles belong to processes that go on: named, and left alone. */
static void name_running(const members_t *members) {
	size_t named = 0, running = 0;
	for (size_t i = 0; i < members->count; i++) {
		const mw_place_t *place = members->items[i].place;
		if (!place->alive || ++running > OTHER_LINES_MAX)
			continue;
		if (named++ == 0)
			mw_complain("still running:");
		char program[64];
		mw_complain("  %s (pid %d): mallow report %d",
			    mw_show_text(members->items[i].snapshot->header.program, program,
					 sizeof(program)),
			    place->pid, place->pid);
	}
	if (running > named)
		mw_complain("  and %zu more: mallow ls", running - named);
}

/* Beside the largest process of the run, less than this part is a helper of no interest: the shells
 * of a wrapper script, say. */
#define SMALL_PART 20

static bool is_wanted(const mw_harvest_t *harvest, const members_t *members, const member_t *member,
		      size_t written) {
	if (harvest->every_process)
		return true;
	int64_t largest = members->items[0].snapshot->live.alloc_bytes;
	return written < OTHER_PROFILES_MAX &&
	       member->snapshot->live.alloc_bytes >= largest / SMALL_PART;
}

/* The processes the program started and that have ended, largest first. */
static void harvest_others(const mw_harvest_t *harvest, const members_t *members) {
	size_t written = 0, left_out = 0;
	for (size_t i = 0; i < members->count; i++) {
		const member_t *member = &members->items[i];
		bool empty = member->snapshot->live.samples == 0;
		if (is_program(harvest, member) || member->place->alive)
			continue;
		if (empty || !is_wanted(harvest, members, member, written)) {
			left_out += !empty;
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
		mw_complain(
			"%zu %s of this run left out, as small: 'mallow run -o DIR/' writes all "
			"profiles",
			left_out, left_out == 1 ? "process" : "processes");
}

/* Why there is no state file of the program. */
static void explain_none(const mw_harvest_t *harvest) {
	char path[4096], rate[MW_SHOW_BYTES];
	const char *why = NULL;
	if (mw_program_find(harvest->program, path, sizeof(path)))
		why = mw_program_refuses_preload(path);
	if (why)
		mw_complain("no profile: %s: %s", path, why);
	else if (access("/dev/shm", W_OK | X_OK) != 0)
		mw_complain("no profile: /dev/shm cannot be written, and the profile was lost with "
			    "the program; set XDG_RUNTIME_DIR to a directory of yours");
	else if (harvest->library_seen)
		mw_complain("no profile: %s allocated too little for a sample (T = %s); --exact "
			    "samples every allocation",
			    harvest->program, mw_show_rate(harvest->mean_bytes, rate));
	else if (harvest->as)
		mw_complain(
			"no profile: %s either allocated too little for a sample (T = %s; --exact "
			"samples every allocation), or is not linked with lib%s.so.2: without "
			"--as mallow is preloaded",
			harvest->program, mw_show_rate(harvest->mean_bytes, rate), harvest->as);
	else
		mw_complain(
			"no profile: %s either allocated too little for a sample (T = %s; --exact "
			"samples every allocation), or never loaded libmallow.so (its "
			"environment was cleaned, or it executed a static or set-uid program)",
			harvest->program, mw_show_rate(harvest->mean_bytes, rate));
}

void mw_harvest(const mw_harvest_t *harvest) {
	mw_places_t places = {0};
	mw_places_add_directories(&places);
	if (harvest->held_fd >= 0)
		mw_places_add_held(&places, harvest->held_fd, harvest->launch->pid,
				   harvest->launch->start_ticks);
	members_t members = find_members(&places, harvest->session);
	qsort(members.items, members.count, sizeof(members.items[0]), compare_members);
	const member_t *program = NULL;
	for (size_t i = 0; i < members.count && !program; i++)
		if (is_program(harvest, &members.items[i]))
			program = &members.items[i];
	print_end(harvest, program ? program->snapshot->header.program : harvest->program);
	if (program)
		harvest_program(harvest, program);
	else
		explain_none(harvest);
	harvest_others(harvest, &members);
	name_running(&members);
	members_release(&members);
	mw_places_release(&places);
}
