/* SPDX-License-Identifier: MIT
 * collect_children.c -- finds the processes of a run by the session in their state files, and
 * writes their profiles. */
#include "cmd/run/collect_children.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/complain.h"
#include "cli/print.h"
#include "cli/terminal.h"
#include "cmd/input/load.h"
#include "cmd/run/run_summary.h"
#include "formats/file/open_state_file.h"
#include "live/control.h"
#include "live/files/program.h"
#include "live/process/process.h"
#include "live/process/resident_memory.h"
#include "live/state_places.h"
#include "model/memory.h"
#include "report/report.h"
#include "report/text/units.h"
#include "symbol/kernel.h"

/* Most profiles of other processes that a run writes beside the program's, and that it names,
 * unless the user gave a directory. */
#define OTHER_PROFILES_MAX 16
#define OTHER_LINES_MAX 16

typedef struct member {
	const mw_place_t *place;
	mw_snapshot_t *snapshot; /* read without stacks */
} member_t;

/* Returns how much a process counts: its CPU time in nanoseconds, or its memory at the peak, that
 * of malloc or all that is of no file, whichever is more. */
static int64_t size_of(const mw_children_t *children, const member_t *member) {
	const mw_state_live_t *live = &member->snapshot->live;
	if (children->is_cpu)
		return (int64_t)(live->cpu_ns + live->wall_ns);
	mw_resident_t resident = mw_resident_from_snapshot(member->snapshot);
	int64_t own_bytes = (int64_t)(resident.bytes - resident.parts[MW_RESIDENT_FILES]);
	return own_bytes > live->peak_bytes ? own_bytes : live->peak_bytes;
}

static bool is_empty(const mw_children_t *children, const member_t *member) {
	const mw_state_live_t *live = &member->snapshot->live;
	return (children->is_cpu ? live->cpu_samples : live->samples) == 0;
}

typedef struct members {
	member_t *items;
	size_t count;
} members_t;

/* Returns the processes of the run.  Files of other sessions, and unreadable files, are left
 * out. */
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

/* Keeps the program's state file open.  An anonymous file ends with its process; a named file
 * may be removed by one of many later processes. */
static void hold_state_file(mw_children_t *children, int pid) {
	mw_places_t places = {0};
	mw_places_add_process(&places, pid);
	if (places.count > 0)
		children->held_fd = mw_open_file(places.items[0].path, O_RDONLY | O_NONBLOCK);
	mw_places_release(&places);
}

void mw_children_poll(mw_children_t *children, int pid) {
	if (!children->library_seen)
		children->library_seen = mw_process_child_has_library(pid);
	if (children->library_seen && children->held_fd < 0)
		hold_state_file(children, pid);
	uint64_t anonymous_bytes = mw_memory_anonymous(pid), most_bytes = mw_memory_most(pid);
	if (anonymous_bytes > children->anonymous_bytes)
		children->anonymous_bytes = anonymous_bytes;
	if (most_bytes > children->most_bytes)
		children->most_bytes = most_bytes;
	mw_places_t places = {0};
	mw_places_add_directories(&places);
	members_t members = find_members(&places, children->session);
	for (size_t i = 0; i < members.count; i++) {
		const member_t *member = &members.items[i];
		/* The program may have ended meanwhile: its file says why it has no samples. */
		if (member->place->pid != pid && !member->place->alive &&
		    is_empty(children, member))
			mw_place_remove(member->place);
	}
	members_release(&members);
	mw_places_release(&places);
}

/* Adds what the run saw of its program, which perhaps called malloc no more, and was killed.  The
 * heap's growth is in the state file, so the rest is the program's own. */
static void add_seen(const mw_children_t *children, mw_resident_t *r) {
	uint64_t heap = r->parts[MW_RESIDENT_MALLOC] + r->parts[MW_RESIDENT_PROFILER];
	uint64_t *mapped = &r->parts[MW_RESIDENT_MAPPED];
	if (children->anonymous_bytes > heap && children->anonymous_bytes - heap > *mapped)
		*mapped = children->anonymous_bytes - heap;
	uint64_t known = heap + *mapped + r->parts[MW_RESIDENT_FILES];
	r->bytes = r->bytes > known ? r->bytes : known;
	r->bytes = children->most_bytes > r->bytes ? children->most_bytes : r->bytes;
	r->parts[MW_RESIDENT_UNEXPLAINED] = r->bytes - known;
	r->most_bytes = r->bytes;
}

/* Orders processes by size_of(), largest first. */
static int compare_members(const void *a, const void *b, void *children) {
	int64_t left = size_of(children, a), right = size_of(children, b);
	return (left < right) - (left > right);
}

static bool is_program(const mw_children_t *children, const member_t *member) {
	return member->place->pid == children->launch->pid &&
	       member->place->start_ticks == children->launch->start_ticks;
}

/* Writes a process's profile.  The caller frees the path.  NULL: a message was printed, and the
 * state file stays. */
static char *write_member(const mw_children_t *children, const member_t *member, const char *file,
			  mw_profile_t **out_profile) {
	mw_target_t target = {
		.path = member->place->path,
		.shown = member->place->shown,
		.is_state = true,
		.pid = member->place->pid,
	};
	mw_error_t error;
	mw_profile_t *profile;
	/* The profile has labels, because no program waits for it. */
	if (mw_load(&target, MW_LOAD_SYMBOLS, MW_LOAD_SPLIT, &profile, &error) != 0) {
		mw_complain("pid %d: no profile: %s", target.pid, error.text);
		return NULL;
	}
	mw_kernel_symbolize(profile);
	if (is_program(children, member) && profile->origin.resident.bytes > 0) {
		mw_resident_t resident = profile->origin.resident;
		add_seen(children, &resident);
		mw_profile_set_resident(profile, &resident);
	}
	char *path = NULL;
	if (file) {
		path = mw_xstrdup(file);
	} else {
		bool here = strcmp(children->directory, ".") == 0;
		path = mw_profile_path(here ? NULL : children->directory,
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

/* Says why the state file of the program holds no sample. */
static void explain_empty(const mw_children_t *children, const member_t *member) {
	const mw_state_live_t *live = &member->snapshot->live;
	char rate[MW_SHOW_BYTES], program[64];
	mw_show_text(member->snapshot->header.program, program, sizeof(program));
	if (children->is_cpu && mw_control_cpu_trouble(live->cpu_error) != NULL)
		mw_complain("no profile: %s could not sample CPU time: %s", program,
			    mw_control_cpu_trouble(live->cpu_error));
	else if (children->is_cpu)
		mw_complain("no profile: %s used too little CPU time for a sample; --cpu-rate "
			    "takes more samples",
			    program);
	else if (!live->active)
		mw_complain("no profile: %s was not sampled: sampling was off", program);
	else if (live->flags & (MW_STATE_ENDED | MW_STATE_QUIT))
		mw_complain("no profile: %s allocated too little for a sample (T = %s); --exact "
			    "samples every allocation",
			    program, mw_show_rate(live->mean_bytes, rate));
	else
		mw_complain("no profile: %s took no sample (T = %s; --exact samples every "
			    "allocation) before it ended, or executed a program that did not load "
			    "libmallow.so",
			    program, mw_show_rate(live->mean_bytes, rate));
}

/* Writes the profile of a process and prints its summary. */
static void collect_process(const mw_children_t *children, const member_t *member,
			    const char *file) {
	mw_profile_t *profile;
	char *path = write_member(children, member, file, &profile);
	if (!path)
		return;
	mw_run_summary_t summary = {.profile = profile, .snapshot = member->snapshot, .path = path};
	mw_run_summary_print(&summary);
	mw_profile_free(profile);
	free(path);
}

/* Writes the program's own profile.  If it has no samples, a file is written only if the user
 * named one. */
static void collect_program(const mw_children_t *children, const member_t *member) {
	bool is_refused = mw_control_cpu_trouble(member->snapshot->live.cpu_error) != NULL;
	if (!is_empty(children, member) || (children->file && !is_refused)) {
		collect_process(children, member, children->file);
		return;
	}
	explain_empty(children, member);
	mw_place_remove(member->place);
}

static void print_other(const mw_children_t *children, const member_t *member, const char *path) {
	char bytes[MW_SHOW_BYTES], program[64];
	const mw_state_live_t *live = &member->snapshot->live;
	uint64_t resident_bytes = mw_resident_from_snapshot(member->snapshot).bytes;
	if (children->is_cpu)
		mw_show_duration(live->cpu_ns + live->wall_ns, bytes);
	else
		mw_format_bytes(resident_bytes > 0 ? (int64_t)resident_bytes : live->peak_bytes,
				bytes, sizeof(bytes));
	mw_complain("  %s (pid %d), %s %s: %s",
		    mw_show_text(member->snapshot->header.program, program, sizeof(program)),
		    member->place->pid,
		    children->is_cpu     ? "CPU time"
		    : resident_bytes > 0 ? "resident at the peak"
					 : "malloc's peak",
		    bytes, path);
}

/* Names processes that still run.  Their state files are kept. */
static void name_running(const members_t *members) {
	size_t named = 0, running = 0;
	for (size_t i = 0; i < members->count; i++) {
		const mw_place_t *place = members->items[i].place;
		if (!place->alive || ++running > OTHER_LINES_MAX)
			continue;
		if (named++ == 0)
			mw_complain("still running:");
		char program[64];
		mw_show_text(members->items[i].snapshot->header.program, program, sizeof(program));
		/* The pid belongs to another pid namespace. */
		if (place->is_elsewhere)
			mw_complain("  %s: mallow report %s", program, place->shown);
		else
			mw_complain("  %s (pid %d): mallow report %d", program, place->pid,
				    place->pid);
	}
	if (running > named)
		mw_complain("  and %zu more: mallow ls", running - named);
}

/* A process whose peak is below this part of the largest one's is not shown, for example the
 * shell of a wrapper script. */
#define SMALL_PART 20

/* True if a process's profile is to be written.  `written` counts the profiles of processes
 * other than the program. */
static bool is_wanted(const mw_children_t *children, const members_t *members,
		      const member_t *member, size_t written) {
	if (children->every_process)
		return true;
	int64_t largest = size_of(children, &members->items[0]);
	return written < OTHER_PROFILES_MAX && size_of(children, member) >= largest / SMALL_PART;
}

/* Writes the profiles of the run's ended processes except `first`, largest first. */
static void collect_others(const mw_children_t *children, const members_t *members,
			   const member_t *first) {
	size_t written = first && !is_program(children, first), named = 0, left_out = 0;
	for (size_t i = 0; i < members->count; i++) {
		const member_t *member = &members->items[i];
		bool is_own = is_program(children, member), empty = is_empty(children, member);
		if (member == first || member->place->alive)
			continue;
		const char *file = is_own ? children->file : NULL;
		bool is_kept = is_own ? !empty || file != NULL
				      : !empty && is_wanted(children, members, member, written);
		if (!is_kept) {
			left_out += !empty;
			mw_place_remove(member->place);
			continue;
		}
		char *path = write_member(children, member, file, NULL);
		if (!path)
			continue;
		if (named == 0)
			mw_complain("other processes of this run:");
		if (named++ < OTHER_LINES_MAX)
			print_other(children, member, path);
		written += !is_own;
		free(path);
	}
	if (named > OTHER_LINES_MAX)
		mw_complain("  and %zu more in %s", named - OTHER_LINES_MAX, children->directory);
	if (left_out > 0)
		mw_complain("%zu %s of this run left out as too small; 'mallow run -o DIR/' writes "
			    "all profiles",
			    left_out, left_out == 1 ? "process" : "processes");
}

/* Says why there is no state file of the program. */
static void explain_none(const mw_children_t *children) {
	char path[4096], rate[MW_SHOW_BYTES];
	const char *why = NULL;
	if (mw_program_find(children->program, path, sizeof(path)))
		why = mw_program_refuses_preload(path);
	if (why)
		mw_complain("no profile: %s: %s", path, why);
	else if (children->is_cpu && children->library_seen)
		mw_complain("no profile: %s ended without a state file, or used too little CPU "
			    "time for a sample; --cpu-rate takes more samples",
			    children->program);
	else if (access("/dev/shm", W_OK | X_OK) != 0)
		mw_complain(
			"no profile: /dev/shm cannot be written, so the profile was lost when the "
			"program ended; set XDG_RUNTIME_DIR to a directory that you can write");
	else if (children->library_seen)
		mw_complain("no profile: %s allocated too little for a sample (T = %s); --exact "
			    "samples every allocation",
			    children->program, mw_show_rate(children->mean_bytes, rate));
	else if (children->as)
		mw_complain(
			"no profile: %s either allocated too little for a sample (T = %s; --exact "
			"samples every allocation), or is not linked with %s: without "
			"--as mallow is preloaded",
			children->program, mw_show_rate(children->mean_bytes, rate), children->as);
	else
		mw_complain(
			"no profile: %s either allocated too little for a sample (T = %s; --exact "
			"samples every allocation), or never loaded libmallow.so (its "
			"environment was cleaned, or it executed a static or set-uid program)",
			children->program, mw_show_rate(children->mean_bytes, rate));
}

/* Returns the process that is shown first: the program, unless a process that it started held
 * more than twice as much memory, or used more than twice as much CPU time.  The profile of a
 * compiler's driver or of a shell does not show their children's work.  NULL: there is no process.
 */
static const member_t *choose_first(const mw_children_t *children, const members_t *members,
				    const member_t *program) {
	const member_t *largest = NULL;
	for (size_t i = 0; i < members->count && !largest; i++)
		if (!members->items[i].place->alive && !is_empty(children, &members->items[i]))
			largest = &members->items[i];
	if (program && largest && size_of(children, program) >= size_of(children, largest) / 2)
		return program;
	return largest ? largest : program;
}

/* Finds the run's processes, largest first. */
static members_t find_children(const mw_children_t *children, mw_places_t *places) {
	mw_places_add_directories(places);
	if (children->held_fd >= 0)
		mw_places_add_held(places, children->held_fd, children->launch->pid,
				   children->launch->start_ticks);
	members_t members = find_members(places, children->session);
	qsort_r(members.items, members.count, sizeof(members.items[0]), compare_members,
		(void *)(uintptr_t)children);
	return members;
}

void mw_children_visit(const mw_children_t *children, mw_child_see_t *see, void *context) {
	mw_places_t places = {0};
	members_t members = find_children(children, &places);
	for (int others = 0; others <= 1; others++)
		for (size_t i = 0; i < members.count; i++) {
			const member_t *member = &members.items[i];
			const mw_target_t target = {.path = member->place->path,
						    .shown = member->place->shown,
						    .is_state = true,
						    .pid = member->place->pid};
			if (member->place->alive || is_program(children, member) == others)
				continue;
			see(context, &target, !others);
			mw_place_remove(member->place);
		}
	name_running(&members);
	members_release(&members);
	mw_places_release(&places);
}

void mw_children_collect(const mw_children_t *children) {
	mw_places_t places = {0};
	members_t members = find_children(children, &places);
	const member_t *program = NULL;
	for (size_t i = 0; i < members.count && !program; i++)
		if (is_program(children, &members.items[i]))
			program = &members.items[i];
	const member_t *first = choose_first(children, &members, program);
	const char *name = program ? program->snapshot->header.program : children->program;
	mw_run_summary_print_end(children->launch, name);
	if (first && first == program) {
		collect_program(children, program);
	} else if (first) {
		mw_run_summary_print_heading(first->snapshot, first->place->pid);
		collect_process(children, first, NULL);
	} else {
		explain_none(children);
	}
	collect_others(children, &members, first);
	name_running(&members);
	members_release(&members);
	mw_places_release(&places);
}
