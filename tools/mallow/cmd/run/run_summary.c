/* SPDX-License-Identifier: MIT
 * run_summary.c -- prints totals, the largest stacks and functions, and the next command to use. */
#include "cmd/run/run_summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/complain.h"
#include "cli/print.h"
#include "cli/terminal.h"
#include "cmd/input/load.h"
#include "live/process/process.h"
#include "model/merge.h"
#include "model/text.h"
#include "report/report.h"
#include "report/row_sums.h"
#include "report/stacks.h"
#include "report/text/names.h"
#include "report/text/resident_text.h"
#include "report/text/units.h"
#include "symbol/symbolize.h"
#include "view/select/wrappers.h"

/* Stacks shown, so that the summary fits one screen. */
#define STACK_COUNT 3
#define FUNCTION_COUNT 4
/* Columns if stderr is no terminal. */
#define COLUMNS_STANDARD 100
/* Most columns of a caller's name. */
#define CALLER_COLUMNS 40
#define CALLER_LINES 2
/* Callers' names begin below the function's name. */
#define INDENT 20

void mw_run_summary_print_end(const mw_launch_t *launch, const char *program) {
	char duration[MW_SHOW_BYTES], program_text[64];
	int status = launch->wait_status;
	mw_show_text(program, program_text, sizeof(program_text));
	mw_show_duration(launch->wall_ns, duration);
	if (WIFSIGNALED(status))
		mw_complain("%s (pid %d) was ended by signal %d (%s) after %s", program_text,
			    launch->pid, WTERMSIG(status), strsignal(WTERMSIG(status)), duration);
	else
		mw_complain("%s (pid %d) ended after %s with status %d", program_text, launch->pid,
			    duration, WEXITSTATUS(status));
}

void mw_run_summary_print_heading(const mw_snapshot_t *snapshot, int pid) {
	char program[64];
	mw_complain("the process that held the most memory was %s (pid %d):",
		    mw_show_text(snapshot->header.program, program, sizeof(program)), pid);
}

/* Formats "6.31 MiB in 120 objects"; exact values are printed to the byte, as malloc rounded them
 * up. */
static const char *amount(int64_t bytes, int64_t objects, bool exact, char *buffer, size_t size) {
	char bytes_text[MW_SHOW_BYTES], objects_text[2 * MW_SHOW_BYTES];
	char exactly[MW_SHOW_BYTES] = "";
	if (exact && bytes >= 1024)
		snprintf(exactly, sizeof(exactly), " (%" PRId64 " usable bytes)", bytes);
	snprintf(buffer, size, "%s%s in %s", mw_format_bytes(bytes, bytes_text, sizeof(bytes_text)),
		 exactly, mw_format_counted(objects, "object", objects_text, sizeof(objects_text)));
	return buffer;
}

static int64_t total_of(const mw_profile_t *p, const char *type) {
	int index = mw_profile_find_type(p, type);
	return index >= 0 ? mw_profile_total(p, (size_t)index) : 0;
}

/* Returns the time from the start of the process to its peak.  The start is known in ticks of
 * 10 ms.  The state file is created later, and perhaps after the peak. */
static uint64_t time_of_peak(const mw_snapshot_t *snapshot) {
	const mw_state_header_t *header = &snapshot->header;
	uint64_t peak_ns = header->created_realtime_ns + snapshot->live.peak_monotonic_ns -
			   header->created_monotonic_ns;
	uint64_t start_ns = mw_process_start_realtime_ns(header->start_ticks);
	return peak_ns > start_ns ? peak_ns - start_ns : 0;
}

/* Says what all of the process's memory was used for: what follows is malloc's alone. */
static void print_resident(const mw_run_summary_t *s) {
	const mw_resident_t *resident = &s->profile->origin.resident;
	char text[MW_RESIDENT_TEXT_BYTES];
	mw_resident_print(stderr,
			  mw_resident_text(resident, mw_arenas_of_profile(s->profile), text),
			  mw_terminal_columns(stderr), "mallow: ", "mallow:   ");
	if (mw_resident_asks_who_mapped(resident) &&
	    mw_profile_find_type(s->profile, "inuse_mapped") < 0)
		mw_complain("  MALLOW_CONF=prof_mappings:true names who maps memory past malloc");
}

static void print_totals(const mw_run_summary_t *s) {
	const mw_state_live_t *live = &s->snapshot->live;
	char text[4 * MW_SHOW_BYTES], after[MW_SHOW_BYTES];
	char rate[MW_SHOW_BYTES], samples[MW_SHOW_BYTES];
	bool exact = live->mean_bytes == 1;
	uint64_t peak_ns = time_of_peak(s->snapshot);
	mw_complain("live at the peak: %s, %s after the start",
		    amount(live->peak_bytes, total_of(s->profile, "peak_objects"), exact, text,
			   sizeof(text)),
		    mw_show_duration(peak_ns, after));
	mw_complain("live at the end:  %s",
		    amount(live->live_bytes, mw_whole_count(live->live_objects_q16), exact, text,
			   sizeof(text)));
	mw_complain("allocated:        %s",
		    amount(live->alloc_bytes, mw_whole_count(live->alloc_objects_q16), exact, text,
			   sizeof(text)));
	mw_complain("%s sample%s, T = %s%s",
		    mw_format_count((int64_t)live->samples, samples, sizeof(samples)),
		    live->samples == 1 ? "" : "s", mw_show_rate(live->mean_bytes, rate),
		    exact ? "" : ": the numbers are estimates");
	mw_show_flags(stderr, "mallow: note: ", live->flags);
}

/* Notes that Python's small objects live in arenas, which Python maps itself instead of calling
 * malloc. */
static void print_hint(const mw_run_summary_t *s) {
	const char *program = s->snapshot->header.program;
	if (strncmp(program, "python", 6) == 0 && getenv("PYTHONMALLOC") == NULL)
		mw_complain("note: python takes objects up to 512 bytes from its own arenas; "
			    "PYTHONMALLOC=malloc shows those, too");
}

/* Formats function and place of a frame.  `line` is the index of the line in its location, inner
 * lines first. */
static const char *name_frame(const mw_profile_t *p, uint32_t location, uint32_t line, char *buffer,
			      size_t size) {
	const mw_line_t *at = mw_location_line(p, &p->locations[location], line);
	return at != NULL ? mw_profile_string(p, p->functions[at->function].name)
			  : mw_location_name(p, location, buffer, size);
}

static void print_place(const mw_profile_t *p, uint32_t location) {
	const mw_line_t *at = mw_location_line(p, &p->locations[location], 0);
	const mw_function_t *function = at != NULL ? &p->functions[at->function] : NULL;
	if (function == NULL || function->file == 0)
		return;
	const char *file = mw_profile_string(p, function->file);
	if (mw_name_has_place(mw_profile_string(p, function->name), file, at->line))
		return;
	fputs("  ", stderr);
	mw_text_print(stderr, file);
	if (at->line > 0)
		fprintf(stderr, ":%" PRId64, at->line);
}

/* Position of the next caller's name. */
typedef struct callers {
	size_t columns, used; /* columns of a line, and columns used */
	int lines;            /* lines begun */
	/* Last name printed, so that a function that was split and inlined into itself is named
	 * once. */
	char last[512];
} callers_t;

/* Prints a caller.  False: there is no room left. */
static bool print_caller(callers_t *c, const char *name) {
	char fitted[512];
	if (strcmp(name, c->last) == 0)
		return true;
	snprintf(c->last, sizeof(c->last), "%s", name);
	mw_fit_name(name, CALLER_COLUMNS, fitted, sizeof(fitted));
	size_t width = mw_text_width(fitted) + 3;
	if (c->lines == 0 || c->used + width > c->columns) {
		if (c->lines == CALLER_LINES)
			return false;
		fprintf(stderr, "%s%*s", c->lines > 0 ? "\n" : "", INDENT - 1, "");
		c->used = INDENT - 1;
		c->lines++;
	}
	fputs(" < ", stderr);
	mw_text_print(stderr, fitted);
	c->used += width;
	return true;
}

/* True if a frame of a stack is left out: a function of a library, or one that called the lambda
 * printed last. */
static bool is_left_out(const callers_t *c, mw_wrappers_t *w, uint32_t location, uint32_t line) {
	mw_frame_kind_t kind = mw_wrappers_kind(w, location, line);
	return kind >= MW_FRAME_START ||
	       (kind == MW_FRAME_HOLDER && strstr(c->last, "operator()") != NULL);
}

/* True if a frame of the stack behind the first one is the program's own. */
static bool has_own_caller(const mw_profile_t *p, mw_wrappers_t *w, const mw_sample_t *s) {
	for (uint32_t i = 0; i < s->depth; i++) {
		uint32_t location = p->frames[s->frame_first + i];
		uint32_t count = mw_location_frames(&p->locations[location]);
		for (uint32_t k = i == 0; k < count; k++)
			if (mw_wrappers_kind(w, location, k) == MW_FRAME_OWN)
				return true;
	}
	return false;
}

/* Prints "< caller < its caller", as far as the lines reach: the program's own functions.  Of a
 * function of a library that the program did not call, all callers. */
static void print_callers(const mw_profile_t *p, mw_wrappers_t *w, const mw_sample_t *s,
			  int columns) {
	callers_t c = {.columns = (size_t)columns};
	char buffer[512];
	bool has_room = true,
	     is_own = mw_wrappers_kind(w, p->frames[s->frame_first], 0) != MW_FRAME_LIBRARY ||
		      has_own_caller(p, w, s);
	for (uint32_t i = 0; i < s->depth && has_room; i++) {
		uint32_t location = p->frames[s->frame_first + i];
		uint32_t count = mw_location_frames(&p->locations[location]);
		for (uint32_t k = 0; k < count && has_room; k++) {
			const char *name = name_frame(p, location, k, buffer, sizeof(buffer));
			if (i == 0 && k == 0)
				snprintf(c.last, sizeof(c.last), "%s", name);
			else if (!is_own || !is_left_out(&c, w, location, k))
				has_room = print_caller(&c, name);
		}
	}
	if (c.lines > 0)
		fputc('\n', stderr);
}

static void print_stack(const mw_profile_t *p, mw_wrappers_t *w, const mw_stacks_t *stacks,
			const mw_stack_t *stack, int columns) {
	char bytes[MW_SHOW_BYTES], buffer[512], name[512];
	const mw_sample_t *s = &p->samples[stack->sample];
	int64_t value = stack->values[stacks->type];
	fprintf(stderr, "%10s %6.1f%%  ", mw_format_bytes(value, bytes, sizeof(bytes)),
		100.0 * (double)value / (double)stacks->total);
	if (s->depth == 0) {
		fputs("[no stack]\n", stderr);
		return;
	}
	uint32_t leaf = p->frames[s->frame_first];
	mw_fit_name(name_frame(p, leaf, 0, buffer, sizeof(buffer)), 2 * CALLER_COLUMNS, name,
		    sizeof(name));
	mw_text_print(stderr, name);
	print_place(p, leaf);
	fputc('\n', stderr);
	print_callers(p, w, s, columns);
}

static void print_stacks(mw_profile_t *p) {
	mw_stacks_t stacks;
	mw_error_t error;
	int columns = mw_terminal_columns(stderr);
	if (mw_stacks_init(&stacks, p, "peak_space", &error) == 0) {
		size_t shown = stacks.count < STACK_COUNT ? stacks.count : STACK_COUNT;
		mw_wrappers_t *w = mw_wrappers_new(p, MW_WRAPPERS_ALL);
		if (shown > 0)
			fputs("at the peak, by stack:\n", stderr);
		for (size_t i = 0; i < shown; i++)
			print_stack(p, w, &stacks, &stacks.stacks[i],
				    columns > 0 ? columns : COLUMNS_STANDARD);
		if (stacks.count > shown)
			fprintf(stderr, "%19s in %zu more stack%s\n", "...", stacks.count - shown,
				stacks.count - shown == 1 ? "" : "s");
		mw_wrappers_free(w);
		mw_stacks_release(&stacks);
	} else {
		mw_complain("%s", error.text);
	}
}

static void print_functions(mw_profile_t *p, const char *type, const char *title) {
	const mw_report_options_t options = {
		.sample_type = type,
		.row_limit = FUNCTION_COUNT,
		.columns = mw_terminal_columns(stderr),
		.no_header = true,
		.only_flat = true,
	};
	mw_error_t error;
	fprintf(stderr, "%s:\n", title);
	if (mw_report_print(stderr, p, &options, &error) != 0)
		mw_complain("%s", error.text);
}

static void print_cpu(const mw_run_summary_t *s) {
	const mw_state_live_t *live = &s->snapshot->live;
	char duration[MW_SHOW_BYTES], title[64];
	int type = mw_profile_cpu_type(s->profile);
	const char *name = mw_profile_string(s->profile, s->profile->types[type].type);
	int64_t total = mw_profile_total(s->profile, (size_t)type);
	const char *of = strcmp(name, "cpu") == 0    ? "CPU time"
			 : strcmp(name, "wall") == 0 ? "wall-clock time of all threads"
						     : name;
	if (of == name)
		mw_format_count(total, duration, sizeof(duration));
	else
		mw_show_duration((uint64_t)total, duration);
	fprintf(stderr, "%s %s, %" PRIu64 " samples", of, duration, live->cpu_samples);
	if (live->cpu_truncated > 0)
		fprintf(stderr, ", %" PRIu64 " of them truncated", live->cpu_truncated);
	if (live->cpu_dropped > 0)
		fprintf(stderr, ", %" PRIu64 " dropped", live->cpu_dropped);
	fputc('\n', stderr);
	mw_profile_forget_labels(s->profile);
	mw_interpreters_fold(s->profile, NULL);
	mw_profile_combine(s->profile);
	snprintf(title, sizeof(title), "%s, by function", of);
	print_functions(s->profile, name, title);
	mw_complain("profile written: %s", s->path);
	mw_complain("next: mallow flame -o cpu.html %s", s->path);
}

void mw_run_summary_print(const mw_run_summary_t *s) {
	mw_profile_name_ranges(s->profile);
	if (mw_profile_cpu_type(s->profile) >= 0) {
		print_cpu(s);
		return;
	}
	const mw_state_live_t *live = &s->snapshot->live;
	/* jemalloc's and gperftools' formats have no peak. */
	bool has_peak = mw_format_of_name(s->path) == MW_FORMAT_PROTO && live->peak_bytes > 0;
	bool is_far_below = live->live_bytes < live->peak_bytes / 2;
	print_resident(s);
	print_totals(s);
	print_hint(s);
	/* In place: a profile of every allocation has some 400,000 samples, and a copy of it takes
	 * as long as the summary. */
	mw_profile_forget_labels(s->profile);
	mw_wrappers_cut(s->profile, MW_WRAPPERS_ALL, NULL);
	mw_interpreters_fold(s->profile, NULL);
	mw_profile_combine(s->profile);
	if (live->peak_bytes > 0)
		print_stacks(s->profile);
	if (live->live_bytes > 0 && live->live_bytes < live->peak_bytes / 10 * 9)
		print_functions(s->profile, "inuse_space", "live at the end, by function");
	mw_complain("profile written: %s", s->path);
	mw_complain("next: mallow report %s%s", has_peak && is_far_below ? "--peak-space " : "",
		    s->path);
}
