/* SPDX-License-Identifier: MIT
 * ls.c -- `mallow ls`: lists the processes that run mallow. */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/complain.h"
#include "cli/pager.h"
#include "cli/print.h"
#include "cmd/input/selected_processes.h"
#include "cmd/process/process_commands.h"
#include "formats/file/state_header.h"
#include "live/process/process.h"
#include "live/program_hold.h"
#include "live/state_places.h"
#include "live/target.h"
#include "model/memory.h"
#include "report/text/style.h"
#include "report/text/units.h"

/* Most rows of killed processes.  A machine that starts many processes keeps dozens of their
 * files. */
#define GONE_ROWS 8
/* Most bytes of a title. */
#define TITLE_BYTES 100

typedef struct row {
	const mw_place_t *place;
	mw_snapshot_t *snapshot;
	mw_fate_t fate;
	uint64_t started_ns;
	char title[TITLE_BYTES]; /* of a live process; "": it has set none */
} row_t;

static bool is_gone(const row_t *row) {
	return row->fate != MW_FATE_RUNNING && row->fate != MW_FATE_STOPPED &&
	       row->fate != MW_FATE_ELSEWHERE;
}

/* Orders live processes first, the oldest at the top; then ended ones, the latest first. */
static int compare_rows(const void *a, const void *b) {
	const row_t *left = a, *right = b;
	if (is_gone(left) != is_gone(right))
		return is_gone(left) - is_gone(right);
	if (is_gone(left)) {
		uint64_t left_ns = left->snapshot->live.updated_realtime_ns;
		uint64_t right_ns = right->snapshot->live.updated_realtime_ns;
		return (left_ns < right_ns) - (left_ns > right_ns);
	}
	return (left->started_ns > right->started_ns) - (left->started_ns < right->started_ns);
}

static const char *user_name(uid_t uid, char *buffer, size_t size) {
	const struct passwd *user = getpwuid(uid);
	if (user)
		snprintf(buffer, size, "%s", user->pw_name);
	else
		snprintf(buffer, size, "%u", uid);
	return buffer;
}

/* Returns the title that the process has now, so that processes of one program can be told
 * apart; otherwise the program's name at its start. */
static const char *name_of(const row_t *row, char *buffer, size_t size) {
	return mw_show_text(row->title[0] != '\0' ? row->title : row->snapshot->header.program,
			    buffer, size);
}

static json_t *row_json(const row_t *row) {
	const mw_state_live_t *live = &row->snapshot->live;
	const mw_state_header_t *header = &row->snapshot->header;
	json_t *value = json_object();
	json_object_set_new(value, "pid", json_integer(row->place->pid));
	json_object_set_new(value, "pid_namespace",
			    json_integer((json_int_t)header->pid_namespace));
	json_object_set_new(value, "program", mw_json_text(header->program));
	char title[TITLE_BYTES];
	json_object_set_new(value, "title", mw_json_text(name_of(row, title, sizeof(title))));
	char command[sizeof(header->args) + 1];
	json_object_set_new(value, "arguments",
			    mw_json_text(mw_show_arguments(header->args, sizeof(header->args),
							   command, sizeof(command))));
	json_object_set_new(value, "state", json_string(mw_fate_name(row->fate)));
	json_object_set_new(value, "active", json_boolean(live->active != 0));
	json_object_set_new(value, "mean_bytes", json_integer((json_int_t)live->mean_bytes));
	json_object_set_new(value, "live_bytes", json_integer((json_int_t)live->live_bytes));
	json_object_set_new(value, "alloc_bytes", json_integer((json_int_t)live->alloc_bytes));
	json_object_set_new(value, "resident_bytes",
			    json_integer((json_int_t)live->resident_bytes));
	json_object_set_new(value, "samples", json_integer((json_int_t)live->samples));
	json_object_set_new(value, "started_ns", json_integer((json_int_t)row->started_ns));
	json_object_set_new(value, "updated_ns",
			    json_integer((json_int_t)live->updated_realtime_ns));
	json_object_set_new(value, "uid", json_integer((json_int_t)row->place->owner));
	json_object_set_new(value, "session", mw_json_text(header->session));
	json_object_set_new(value, "state_file", mw_json_text(row->place->shown));
	return value;
}

static int print_json(const row_t *rows, size_t count) {
	json_t *list = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, row_json(&rows[i]));
	return mw_print_json(list);
}

static void print_table(const row_t *rows, size_t count, bool all) {
	size_t gone = 0;
	bool users = geteuid() == 0;
	printf("%s%8s %-9s %10s %10s %12s  %s%s%s\n", mw_style(MW_STYLE_HEAD), "PID", "STATE",
	       "RATE", "LIVE", "AGE", users ? "USER      " : "", "PROGRAM",
	       mw_style(MW_STYLE_PLAIN));
	uint64_t now_ns = mw_now_ns();
	for (size_t i = 0; i < count; i++) {
		const row_t *row = &rows[i];
		const mw_state_live_t *live = &row->snapshot->live;
		if (is_gone(row) && ++gone > GONE_ROWS && !all)
			continue;
		char rate[MW_SHOW_BYTES], bytes[MW_SHOW_BYTES], age[MW_SHOW_BYTES];
		char user[32], program[TITLE_BYTES];
		uint64_t age_ns = now_ns > row->started_ns ? now_ns - row->started_ns : 0;
		printf("%8d %-9s %10s %10s %12s  ", row->place->pid, mw_fate_name(row->fate),
		       live->active ? mw_show_rate(live->mean_bytes, rate) : "off",
		       mw_format_bytes(live->live_bytes, bytes, sizeof(bytes)),
		       mw_show_duration(age_ns, age));
		if (users)
			printf("%-9s ", user_name(row->place->owner, user, sizeof(user)));
		fputs(name_of(row, program, sizeof(program)), stdout);
		uint64_t seen_ns = live->updated_realtime_ns;
		if (is_gone(row) && seen_ns > 0 && now_ns > seen_ns)
			printf(", last seen %s ago", mw_show_duration(now_ns - seen_ns, age));
		putchar('\n');
	}
	if (gone > GONE_ROWS && !all)
		printf("and %zu more that have ended: mallow ls --all\n", gone - GONE_ROWS);
}

/* For scripts. */
static void print_brief(const row_t *rows, size_t count) {
	char program[TITLE_BYTES];
	for (size_t i = 0; i < count; i++)
		printf("%d\t%s\n", rows[i].place->pid, name_of(&rows[i], program, sizeof(program)));
}

/* Prints why a file cannot be read: for the first file only, since processes of another version
 * may have left dozens, or for each if `all`. */
static void say_unreadable(size_t number, const mw_place_t *place, const char *why, bool all) {
	if (number > 1 && !all)
		return;
	if (mw_state_file_is_blank(place->path))
		mw_complain("note: %s: its process ended before it wrote a profile; 'mallow clean' "
			    "removes the file",
			    place->shown);
	else
		mw_complain("note: %s", why);
}

static void say_how_many(size_t unreadable, bool all) {
	if (unreadable > 1 && !all)
		mw_complain("note: %zu more state files cannot be read; 'mallow ls --all' names "
			    "them, 'mallow clean' removes those of ended processes",
			    unreadable - 1);
}

static void describe_process(row_t *row, int pid) {
	row->fate = mw_fate_of(row->snapshot, pid);
	row->started_ns = pid > 0 ? mw_process_start_realtime_ns(row->place->start_ticks)
				  : row->snapshot->header.created_realtime_ns;
	if (pid <= 0 || !mw_process_title(pid, row->title, sizeof(row->title)))
		row->title[0] = '\0';
}

/* Fills in the row of a file that is held by a process, which may end meanwhile, and another one
 * have its pid: what was read of the process counts if it still is there afterwards. */
static int read_live(row_t *row, const mw_filter_t *filter, bool *matches, mw_error_t *error) {
	mw_program_hold_t program;
	mw_target_t target = mw_target_of_place(row->place);
	bool is_held = mw_program_hold(&target, &program, error) == 0;
	int result = program.fd < 0
			     ? -1
			     : mw_target_read_fd(&target, program.fd, 0, &row->snapshot, error);
	if (result == 0) {
		int pid = is_held ? mw_place_process(row->place) : 0;
		*matches = mw_filter_matches(filter, row->place, row->snapshot->header.program);
		describe_process(row, pid);
		if (pid != 0 && !mw_program_goes_on(&program))
			describe_process(row, 0);
	}
	mw_program_hold_release(&program);
	mw_target_release(&target);
	return result;
}

static int read_row(row_t *row, const mw_filter_t *filter, bool *matches, mw_error_t *error) {
	if (row->place->alive)
		return read_live(row, filter, matches, error);
	if (mw_snapshot_read(row->place->path, 0, &row->snapshot, error) != 0)
		return -1;
	*matches = mw_filter_matches(filter, row->place, row->snapshot->header.program);
	describe_process(row, 0);
	return 0;
}

/* Returns whether a file that cannot be read is worth a note. A live process may be creating its
 * file. A process that ended since the directory was read has removed its file. */
static bool is_to_be_said(const mw_place_t *place) {
	if (place->alive)
		return mw_state_file_is_of_other_layout(place->path);
	return !mw_place_is_begun(place) && access(place->path, F_OK) == 0;
}

/* Makes rows of the files that can be read, and counts those that cannot. */
static size_t read_rows(const mw_places_t *places, const mw_filter_t *filter, bool all, row_t *rows,
			size_t *unreadable) {
	size_t count = 0;
	*unreadable = 0;
	for (size_t i = 0; i < places->count; i++) {
		const mw_place_t *place = &places->items[i];
		mw_error_t error;
		row_t row = {.place = place};
		bool matches = false;
		if (read_row(&row, filter, &matches, &error) != 0) {
			if (is_to_be_said(place))
				say_unreadable(++*unreadable, place, error.text, all);
			continue;
		}
		if (matches)
			rows[count++] = row;
		else
			mw_snapshot_free(row.snapshot);
	}
	say_how_many(*unreadable, all);
	return count;
}

int mw_cmd_ls(const mw_arguments_t *arguments) {
	mw_filter_t *filter;
	if (!mw_filter_make(arguments, &filter))
		return MW_EXIT_TROUBLE;
	mw_places_t places = {0};
	mw_places_add_all(&places);
	row_t *rows = mw_xcalloc(places.count + 1, sizeof(*rows));
	bool all = arguments->options.all.given;
	size_t unreadable;
	size_t count = read_rows(&places, filter, all, rows, &unreadable);
	qsort(rows, count, sizeof(*rows), compare_rows);
	int status = MW_EXIT_FINE;
	mw_pager_begin(arguments);
	if (arguments->options.json.given)
		status = print_json(rows, count);
	else if (arguments->options.brief.given)
		print_brief(rows, count);
	else if (count == 0 && unreadable > 0)
		mw_complain("no process runs mallow whose profile this command can read");
	else if (count == 0)
		fputs(arguments->options.name.given || arguments->options.cgroup.given
			      ? "mallow: no process matches; 'mallow ls' shows all\n"
			      : "mallow: no process runs mallow; 'mallow run PROGRAM' starts one\n",
		      stderr);
	else
		print_table(rows, count, all);
	for (size_t i = 0; i < count; i++)
		mw_snapshot_free(rows[i].snapshot);
	free(rows);
	mw_places_release(&places);
	mw_filter_free(filter);
	return status;
}
