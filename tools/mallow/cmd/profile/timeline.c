/* SPDX-License-Identifier: MIT
 * timeline.c -- `mallow timeline`: the heap over time, from a process's own ticks or from dumps. */
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "cli/complain.h"
#include "cli/print.h"
#include "cli/terminal.h"
#include "cmd/input/directory.h"
#include "cmd/input/load.h"
#include "cmd/marks/marks.h"
#include "cmd/profile/output_file.h"
#include "cmd/profile/profile_commands.h"
#include "cmd/profile/view_options.h"
#include "cmd/store/stored_profile.h"
#include "formats/file/output.h"
#include "model/memory.h"
#include "report/text/types.h"
#include "view/picture/timeline.h"
#include "view/select/selection.h"

/* Bytes of "T = " and a rate. */
enum { MARK_BYTES = MW_SHOW_BYTES + 8 };

typedef struct collection {
	const mw_arguments_t *arguments;
	mw_series_t series;
	size_t capacity, mark_capacity;
	mw_history_t history; /* owns the pauses of `series` */
	char program[256], type[64], unit[32];
	int64_t last_ns; /* time of the latest dump */
	uint32_t pid;    /* pid of one dump; 0 = not known */
	bool is_mixed;
	size_t skipped; /* files of a directory that are no profiles */
} collection_t;

static void add_moment(collection_t *c, const mw_moment_t *moment) {
	c->series.moments =
		mw_grow(c->series.moments, &c->capacity, c->series.count + 1, sizeof(mw_moment_t));
	c->series.moments[c->series.count++] = *moment;
}

static void name_series(collection_t *c, const char *program, const char *type, const char *unit) {
	snprintf(c->program, sizeof(c->program), "%s", program);
	snprintf(c->type, sizeof(c->type), "%s", type);
	snprintf(c->unit, sizeof(c->unit), "%s", unit);
}

static void add_mark(collection_t *c, uint64_t time_ns, const char *text, bool is_stored) {
	mw_series_t *s = &c->series;
	if (time_ns > INT64_MAX || text == NULL)
		return;
	s->marks = mw_grow(s->marks, &c->mark_capacity, s->mark_count + 1, sizeof(*s->marks));
	mw_mark_t *mark = &s->marks[s->mark_count++];
	mark->time_ns = (int64_t)time_ns;
	mark->is_stored = is_stored;
	snprintf(mark->text, sizeof(mark->text), "%.*s", (int)sizeof(mark->text) - 1, text);
}

/* Returns the name of an event in a picture; NULL = the event is not shown. */
static const char *text_of(const mw_state_event_t *event, bool is_first, char buffer[MARK_BYTES]) {
	char rate[MW_SHOW_BYTES];
	switch (event->kind) {
	case MW_EVENT_START:
		return is_first ? NULL : "sampling on";
	case MW_EVENT_STOP:
		return "sampling off";
	case MW_EVENT_RATE:
		snprintf(buffer, MARK_BYTES, "T = %s", mw_show_rate(event->b, rate));
		return buffer;
	case MW_EVENT_RESET:
		return "reset";
	case MW_EVENT_DUMP:
		return "dump";
	case MW_EVENT_SOFT_LIMIT:
		return "soft limit passed";
	case MW_EVENT_HARD_LIMIT:
		return "hard limit: request refused";
	case MW_EVENT_CRASH:
		snprintf(buffer, MARK_BYTES, "signal %u", (unsigned)event->a);
		return buffer;
	default:
		return NULL;
	}
}

static int compare_mark_times(const void *left, const void *right) {
	const mw_mark_t *a = left, *b = right;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* Adds events of the process and marks of the user. */
static void add_marks(collection_t *c, const mw_snapshot_t *snapshot) {
	char buffer[MARK_BYTES];
	for (size_t i = 0; i < snapshot->event_count; i++)
		add_mark(c, snapshot->events[i].time_ns,
			 text_of(&snapshot->events[i], i == 0, buffer), false);
	size_t count;
	mw_mark_file_t *marks = mw_marks_of(snapshot, &count);
	for (size_t i = 0; i < count; i++)
		add_mark(c, (uint64_t)marks[i].time_ns,
			 marks[i].name[0] != '\0' ? marks[i].name : "mark", true);
	mw_marks_free(marks, count);
	if (c->series.mark_count > 1)
		qsort(c->series.marks, c->series.mark_count, sizeof(mw_mark_t), compare_mark_times);
}

/* Adds the ticks of a process: three sums over all stacks, ten times a second. */
static int add_history(collection_t *c, const mw_history_t *h, const char *program,
		       mw_error_t *error) {
	const char *type = c->arguments->options.sample_type.text != NULL
				   ? c->arguments->options.sample_type.text
				   : "inuse_space";
	bool is_allocated = strcmp(type, "alloc_space") == 0;
	if (mw_selection_options_given(c->arguments))
		return mw_error_set(
			error,
			"--focus and similar options need dumps: the timeline of a process holds "
			"only the sum of all stacks; 'mallow dump --every' writes dumps");
	if (!is_allocated && strcmp(type, "inuse_space") != 0)
		return mw_error_set(error,
				    "the timeline of a process does not hold '%s'; allowed: "
				    "inuse_space, alloc_space",
				    type);
	name_series(c, program, type, "bytes");
	for (size_t i = 0; i < h->tick_count; i++) {
		const mw_tick_t *tick = &h->ticks[i];
		const mw_moment_t moment = {
			.time_ns = tick->time_ns,
			.value = is_allocated ? tick->alloc_bytes : tick->live_bytes,
			.resident_bytes = tick->resident_bytes,
			.allocated_bytes = tick->alloc_bytes,
		};
		add_moment(c, &moment);
	}
	mw_history_add(&c->history, h);
	c->series.pauses = c->history.pauses;
	c->series.pause_count = c->history.pause_count;
	return 0;
}

static int add_ticks(collection_t *c, const char *path, mw_error_t *error) {
	mw_snapshot_t *snapshot;
	mw_history_t history = {0};
	if (mw_snapshot_read(path, MW_SNAPSHOT_HISTORY, &snapshot, error) != 0)
		return -1;
	mw_history_from_snapshot(&history, snapshot);
	int result = add_history(c, &history, snapshot->header.program, error);
	if (result == 0)
		add_marks(c, snapshot);
	c->pid = snapshot->header.pid;
	mw_history_clear(&history);
	mw_snapshot_free(snapshot);
	return result;
}

/* True if there is one file only and it has a history. */
static bool has_history(const collection_t *c, const mw_profile_t *p) {
	const char *type = c->arguments->options.sample_type.text;
	return c->arguments->operand_count == 1 && !mw_is_directory(c->arguments->operands[0]) &&
	       p->history.tick_count > 0 && !mw_selection_options_given(c->arguments) &&
	       (type == NULL || strcmp(type, "inuse_space") == 0 ||
		strcmp(type, "alloc_space") == 0);
}

static int add_profile(collection_t *c, const mw_target_t *target, mw_error_t *error) {
	const mw_selection_t selection = mw_selection_options_take(c->arguments);
	bool by_name = mw_selection_options_given(c->arguments);
	bool by_label = mw_selection_options_need_labels(c->arguments);
	mw_profile_t *p;
	size_t type;
	if (mw_load(target, by_name ? MW_LOAD_SYMBOLS : MW_LOAD_NO_SYMBOLS,
		    by_label ? MW_LOAD_SPLIT : MW_LOAD_STACKS, &p, error) != 0)
		return -1;
	int result = mw_report_find_type(p, c->arguments->options.sample_type.text, &type, error);
	if (result == 0 && has_history(c, p))
		result =
			add_history(c, &p->history, mw_profile_string(p, p->origin.program), error);
	if (result == 0 && c->series.count > 0 && c->history.tick_count > 0)
		c->pid = p->origin.pid;
	if (result == 0 && by_name)
		result = mw_selection_apply(p, &selection, error);
	if (result == 0) {
		int allocated = mw_profile_find_type(p, "alloc_space");
		const mw_moment_t moment = {
			.time_ns = mw_dump_time_ns(p, target->path),
			.value = mw_profile_total(p, type),
			.allocated_bytes =
				allocated >= 0 ? mw_profile_total(p, (size_t)allocated) : 0,
		};
		c->is_mixed |= c->series.count > 0 && p->origin.pid != c->pid;
		c->pid = p->origin.pid;
		/* A process may have executed another program, so the latest name is used. */
		if (c->series.count == 0 || moment.time_ns >= c->last_ns) {
			name_series(c, mw_profile_string(p, p->origin.program),
				    mw_profile_string(p, p->types[type].type),
				    mw_profile_string(p, p->types[type].unit));
			c->last_ns = moment.time_ns;
		}
		/* The process's history may also have this moment, with more values. */
		size_t noted = c->history.tick_count;
		if (noted == 0 || moment.time_ns > c->history.ticks[noted - 1].time_ns)
			add_moment(c, &moment);
	}
	mw_profile_free(p);
	return result;
}

static int add_file(void *collection, const char *path, mw_error_t *error) {
	collection_t *c = collection;
	mw_target_t target;
	if (mw_target_resolve(path, &target, error) != 0)
		return -1;
	int result = add_profile(c, &target, error);
	mw_target_release(&target);
	return result;
}

/* Adds the sums over the processes of a service, of which each step may lack some. */
static int add_stored(collection_t *c, const char *text, mw_error_t *error) {
	mw_point_t *points;
	mw_kind_t kind;
	size_t count;
	if (mw_selection_options_given(c->arguments))
		return mw_error_set(error,
				    "%s: --focus and similar options need dumps; the "
				    "timeline of a store has sums",
				    text);
	if (mw_stored_timeline(text, &points, &count, &kind, error) != 0)
		return -1;
	const mw_kind_values_t *values = mw_kind_values(kind);
	int value = values->standard;
	for (int i = 0; i < MW_VALUES; i++)
		if (c->arguments->options.sample_type.text != NULL &&
		    values->values[i].type != NULL &&
		    strcmp(values->values[i].type, c->arguments->options.sample_type.text) == 0)
			value = i;
	name_series(c, text, values->values[value].type, values->values[value].unit);
	for (size_t i = 0; i < count; i++) {
		const mw_moment_t moment = {.time_ns = points[i].time_ns,
					    .value = mw_point_value(&points[i], value)};
		add_moment(c, &moment);
	}
	free(points);
	return 0;
}

static int add_target(collection_t *c, const char *name, mw_error_t *error) {
	if (mw_question_is(name))
		return add_stored(c, name, error);
	if (mw_is_directory(name))
		return mw_directory_walk(name, add_file, c, &c->skipped, error);
	mw_target_t target;
	if (mw_target_resolve(name, &target, error) != 0)
		return -1;
	if (target.note[0] != '\0')
		mw_complain("note: %s", target.note);
	bool is_alone = c->arguments->operand_count == 1;
	int result = target.is_state && is_alone ? add_ticks(c, target.path, error)
						 : add_profile(c, &target, error);
	mw_target_release(&target);
	return result;
}

static int collect(collection_t *c, mw_error_t *error) {
	for (unsigned i = 0; i < c->arguments->operand_count; i++)
		if (add_target(c, c->arguments->operands[i], error) != 0)
			return -1;
	if (c->series.count == 0)
		return mw_error_set(error,
				    "%s: the process has recorded no moment yet; try again later",
				    c->arguments->operands[0]);
	if (c->skipped > 0)
		mw_complain("note: left out %zu file%s without a profile", c->skipped,
			    c->skipped == 1 ? "" : "s");
	if (c->is_mixed)
		mw_complain("note: these dumps belong to several processes; give the dumps of one "
			    "process");
	c->series.program = c->program;
	c->series.pid = c->is_mixed ? 0 : c->pid;
	c->series.type = c->type;
	c->series.unit = c->unit;
	mw_series_sort(&c->series);
	return 0;
}

static bool ends_with(const char *path, const char *ending) {
	size_t length = strlen(path), tail = strlen(ending);
	return length > tail && strcmp(path + length - tail, ending) == 0;
}

static bool is_unicode(void) {
	setlocale(LC_CTYPE, "");
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* Checks the ending of the output's name. -1: it asks for another kind of picture. */
static int check_ending(const char *path, mw_error_t *error) {
	static const char *const known[] = {".html", ".svg", ".json"};
	bool is_ours = mw_picture_find(path, "timeline") == NULL;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		is_ours |= ends_with(path, known[i]);
	if (is_ours)
		return 0;
	return mw_error_set(error,
			    "%s: timeline does not write this kind of file; allowed: .html, .svg, "
			    ".json, else text",
			    path);
}

static int draw(const collection_t *c, const char *path, FILE *out, mw_error_t *error) {
	const mw_series_t *series = &c->series;
	if (check_ending(path, error) != 0)
		return -1;
	if (ends_with(path, ".html"))
		return mw_timeline_html(series, out, error);
	if (ends_with(path, ".svg"))
		mw_timeline_svg(series, out);
	else if (ends_with(path, ".json") || c->arguments->options.json.given)
		mw_timeline_json(series, out);
	else
		mw_timeline_text(series, out, *path == '\0' ? mw_terminal_columns(stdout) : 0,
				 is_unicode());
	return 0;
}

static int write_out(const collection_t *c, mw_error_t *error) {
	const char *path = c->arguments->options.output.text;
	char *drawn = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&drawn, &length);
	if (out == NULL)
		return mw_error_set(error, "timeline: out of memory; give fewer dumps");
	bool is_file = path != NULL && strcmp(path, "-") != 0;
	int result = draw(c, is_file ? path : "", out, error);
	fclose(out);
	if (result == 0 && is_file)
		result = mw_picture_write(NULL, path, drawn, length, error);
	else if (result == 0)
		fwrite(drawn, 1, length, stdout);
	free(drawn);
	return result;
}

int mw_cmd_timeline(const mw_arguments_t *arguments) {
	collection_t c = {.arguments = arguments};
	mw_error_t error;
	mw_load_take_options(arguments);
	mw_load_take_fetch_options(arguments);
	int result = collect(&c, &error);
	if (result == 0)
		result = write_out(&c, &error);
	free(c.series.moments);
	mw_history_clear(&c.history);
	free(c.series.marks);
	if (result == 0)
		return MW_EXIT_FINE;
	mw_complain("%s", error.text);
	return MW_EXIT_TROUBLE;
}
