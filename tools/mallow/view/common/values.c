/* SPDX-License-Identifier: MIT
 * values.c -- prints values, percentages and headers. */
#include "view/common/values.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "model/text.h"
#include "report/text/names.h"
#include "report/text/pprof_units.h"
#include "report/text/types.h"
#include "view/select/tags.h"

static const char *own_unit(const mw_view_t *v) {
	return mw_profile_string(v->profile, v->profile->types[v->type].unit);
}

bool mw_view_knows_unit(const char *unit) {
	return strcmp(unit, "minimum") == 0 || strcmp(unit, "auto") == 0 || mw_unit_is_known(unit);
}

const char *mw_view_unit(const mw_view_t *v, const mw_graph_t *graph) {
	if (v->unit == NULL || strcmp(v->unit, "auto") == 0)
		return v->unit;
	const mw_unit_t *units = mw_units_of(own_unit(v));
	const double ratio = v->ratio * mw_unit_size(own_unit(v));
	if (strcmp(v->unit, "minimum") != 0)
		return v->unit;
	if (units == mw_units_of("count"))
		return own_unit(v);
	double smallest = 0, largest = fabs((double)v->total) * ratio;
	for (size_t i = 0; graph != NULL && i < mw_graph_count(graph); i++) {
		const mw_node_t *n = mw_graph_node(graph, i);
		double value = fabs((double)(n->flat != 0 ? n->flat : n->cum)) * ratio;
		if (value > 0 && (smallest <= 0 || value < smallest))
			smallest = value;
	}
	if (graph == NULL || mw_graph_count(graph) == 0)
		return "auto";
	if (smallest <= 0)
		smallest = largest;
	/* For values far below the largest, two decimals of a larger unit are enough. */
	const mw_unit_t *unit = mw_unit_fitting(units, smallest);
	if (unit != mw_unit_fitting(units, largest) && smallest * 100 < largest)
		unit = mw_unit_fitting(units, smallest * 100);
	return unit->name;
}

const char *mw_view_value(const mw_view_t *v, const char *unit, int64_t value,
			  char buffer[MW_VALUE_BYTES]) {
	bool same = v->ratio >= 1 && v->ratio <= 1;
	/* Scaled values are truncated to whole numbers, as in pprof. */
	double scaled = same ? (double)value : trunc((double)value * v->ratio);
	if (unit == NULL) {
		/* 2^63 itself is out of range. */
		if (scaled > 0x1p62 || scaled < -0x1p62)
			scaled = scaled > 0 ? 0x1p62 : -0x1p62;
		return mw_report_value(v->profile, v->type, same ? value : (int64_t)scaled, buffer,
				       MW_VALUE_BYTES);
	}
	const mw_unit_t *units = mw_units_of(own_unit(v));
	scaled *= mw_unit_size(own_unit(v));
	const mw_unit_t *u = strcmp(unit, "auto") == 0 ? mw_unit_fitting(units, fabs(scaled))
						       : mw_unit_named(units, unit);
	const mw_unit_t counted = {.name = unit, .size = 1};
	/* As in pprof, counts have the word that is their unit, unless it says nothing. */
	if (units == mw_units_of("count") && strcmp(unit, own_unit(v)) == 0 &&
	    strcmp(unit, "count") != 0 && strcmp(unit, "sample") != 0 && strcmp(unit, "unit") != 0)
		u = &counted;
	return mw_unit_text(u, scaled, buffer, MW_VALUE_BYTES);
}

const char *mw_view_percent(int64_t part, int64_t whole, char buffer[MW_VALUE_BYTES]) {
	double percent = whole == 0 ? 0 : fabs((double)part / (double)whole) * 100;
	if (percent >= 99.95 && percent <= 100.05)
		snprintf(buffer, MW_VALUE_BYTES, "  100%%");
	else if (percent >= 1)
		snprintf(buffer, MW_VALUE_BYTES, "%5.2f%%", percent);
	else
		snprintf(buffer, MW_VALUE_BYTES, "%5.2g%%", percent);
	return buffer;
}

static void print_field(const mw_view_t *v, const char *name, const char *value) {
	if (*value == '\0')
		return;
	int used = fprintf(v->out, "%s: ", name);
	mw_view_name(v, value, (size_t)used);
	fputc('\n', v->out);
}

/* Prints the first of `lines` that fits the terminal's width, or the last line. */
static void print_fitting(const mw_view_t *v, const char *const *lines, size_t count) {
	size_t i = 0;
	while (v->columns > 0 && i + 1 < count && mw_text_width(lines[i]) > (size_t)v->columns)
		i++;
	fprintf(v->out, "%s\n", lines[i]);
}

enum { LINE_BYTES = 4 * MW_VALUE_BYTES };

static void print_accounted(const mw_view_t *v, int64_t flat, const char *unit) {
	char part[MW_VALUE_BYTES], percent[MW_VALUE_BYTES], whole[MW_VALUE_BYTES];
	char full[LINE_BYTES], shorter[LINE_BYTES], shortest[LINE_BYTES];
	const char *of = mw_view_value(v, unit, v->total, whole);
	const char *shown = mw_view_value(v, unit, flat, part);
	const char *share = mw_view_percent(flat, v->total, percent);
	share += strspn(share, " ");
	snprintf(full, sizeof(full), "Showing nodes accounting for %s, %s of %s total", shown,
		 share, of);
	snprintf(shorter, sizeof(shorter), "%s, %s of %s", shown, share, of);
	snprintf(shortest, sizeof(shortest), "%s of %s", shown, of);
	print_fitting(v, (const char *const[]){full, shorter, shortest, share}, 4);
}

/* Says how many entries were left out; `part` is the share below which they are. */
static void print_dropped(const mw_view_t *v, const char *unit, const char *what, size_t count,
			  double part) {
	char full[LINE_BYTES], shorter[LINE_BYTES / 2], limit[MW_VALUE_BYTES];
	bool is_edge = strcmp(what, "edge") == 0;
	if (count == 0)
		return;
	snprintf(shorter, sizeof(shorter), "Dropped %zu %s%s", count, what, count == 1 ? "" : "s");
	snprintf(full, sizeof(full), "%s (%s <= %s)", shorter, is_edge ? "freq" : "cum",
		 mw_view_value(v, unit, (int64_t)fabs((double)v->total * part), limit));
	print_fitting(v, (const char *const[]){full, shorter}, 2);
}

static void print_left_out(const mw_view_t *v, const mw_graph_t *graph, const char *unit) {
	size_t shown = mw_graph_count(graph), all = mw_graph_original_count(graph);
	char full[LINE_BYTES], shorter[LINE_BYTES / 2];
	print_dropped(v, unit, "node", mw_graph_dropped_nodes(graph), v->graph.node_fraction);
	if (v->graph.is_picture)
		print_dropped(v, unit, "edge", mw_graph_dropped_edges(graph),
			      v->graph.edge_fraction);
	if (shown < all) {
		snprintf(full, sizeof(full), "Showing top %zu nodes out of %zu", shown, all);
		snprintf(shorter, sizeof(shorter), "Top %zu of %zu", shown, all);
		print_fitting(v, (const char *const[]){full, shorter}, 2);
	}
}

static void print_filters(const mw_view_t *v) {
	if (v->filters == NULL || *v->filters == '\0')
		return;
	char *filters = mw_text_clean(mw_xstrdup(v->filters), "\n");
	fprintf(v->out, "Active filters:\n%s", filters);
	free(filters);
}

/* Prints whether the sampling error alone may explain a change. */
static void print_sampling_error(const mw_view_t *v, const char *unit, bool is_more) {
	char full[LINE_BYTES], shorter[LINE_BYTES], limit[MW_VALUE_BYTES];
	const char *verdict = is_more ? "more than chance" : "perhaps chance";
	mw_view_value(v, unit, (int64_t)v->sampling_error, limit);
	snprintf(full, sizeof(full), "        %s: sampling alone makes up to %s in 95 of 100 cases",
		 verdict, limit);
	snprintf(shorter, sizeof(shorter), "%s: up to %s", verdict, limit);
	print_fitting(v, (const char *const[]){full, shorter, verdict}, 3);
}

/* Prints the change, its time, and whether it may be chance. */
static void print_change(const mw_view_t *v, const char *unit) {
	const mw_profile_t *p = v->profile;
	int64_t change = mw_profile_total(p, v->type);
	double seconds = ((double)p->time_ns - (double)p->origin.base_time_ns) / 1e9;
	char value[MW_VALUE_BYTES], before[MW_VALUE_BYTES], rate[MW_VALUE_BYTES];
	char full[LINE_BYTES], shorter[LINE_BYTES / 2], shortest[LINE_BYTES / 2];
	snprintf(shortest, sizeof(shortest), "%s%s", change > 0 ? "+" : "",
		 mw_view_value(v, unit, change, value));
	snprintf(shorter, sizeof(shorter), "Change: %.60s from %s", shortest,
		 mw_view_value(v, unit, v->total, before));
	if (p->time_ns > 0 && p->origin.base_time_ns > 0 && seconds > 0)
		snprintf(full, sizeof(full), "%.90s in %.*f s, %s/s", shorter, seconds < 10 ? 1 : 0,
			 seconds,
			 mw_view_value(v, unit, (int64_t)((double)change / seconds), rate));
	else
		snprintf(full, sizeof(full), "%s", shorter);
	print_fitting(v, (const char *const[]){full, shorter, shortest}, 3);
	if (change != 0 && v->sampling_error > 0 && v->sampling_error < 0x1p62)
		print_sampling_error(v, unit, fabs((double)change) > v->sampling_error);
}

void mw_view_header(const mw_view_t *v, const mw_graph_t *graph, const char *unit) {
	const mw_profile_t *p = v->profile;
	char total[MW_VALUE_BYTES];
	if (v->no_header)
		return;
	print_field(v, "File", mw_profile_string(p, p->origin.program));
	char type[256];
	snprintf(type, sizeof(type), "%s%s", v->graph.is_mean ? "mean_" : "",
		 mw_profile_string(p, p->types[v->type].type));
	print_field(v, "Type", type);
	print_filters(v);
	bool is_change = v->base != NULL && v->changes == NULL && strcmp(v->name, "diff") == 0;
	if (is_change)
		print_change(v, unit);
	if (graph == NULL) {
		fprintf(v->out, "Total: %s\n", mw_view_value(v, unit, v->total, total));
		return;
	}
	int64_t flat = 0;
	for (size_t i = 0; i < mw_graph_count(graph); i++)
		if (__builtin_add_overflow(flat, mw_graph_node(graph, i)->flat, &flat))
			flat = INT64_MAX;
	if (!is_change)
		print_accounted(v, flat, unit);
	print_left_out(v, graph, unit);
}

/* Width of a label's key, as in pprof. */
#define KEY_COLUMNS 10

void mw_view_labels(const mw_view_t *v, const mw_sample_t *s) {
	for (uint32_t i = 0; i < s->label_count; i++) {
		const mw_label_t *label = &v->profile->labels[s->label_first + i];
		char buffer[64];
		const char *key = mw_profile_string(v->profile, label->key);
		size_t width = mw_text_width(key);
		fprintf(v->out, "%*s", width < KEY_COLUMNS ? (int)(KEY_COLUMNS - width) : 0, "");
		mw_text_print(v->out, key);
		fputs(":  ", v->out);
		/* Values take the user's unit; sizes of objects take a unit of their own, as in
		 * pprof. */
		const char *unit = v->unit != NULL ? "auto" : NULL;
		mw_text_print(v->out,
			      mw_tag_value(v->profile, label, unit, buffer, sizeof(buffer)));
		fputc('\n', v->out);
	}
}

/* Fewest columns of a name, however narrow the terminal is. */
#define NAME_WIDTH_MIN 16
/* Fewest columns of a name on a terminal with room for one number. */
#define NARROW_NAME_WIDTH 6

/* Longest name that is printed: compilers make names of up to about ten thousand bytes. */
#define NAME_BYTES_MAX 16384

void mw_view_name(const mw_view_t *v, const char *name, size_t used) {
	char fitted[NAME_BYTES_MAX];
	size_t columns = (size_t)v->columns;
	if (columns == 0) {
		mw_short_name(name, fitted, sizeof(fitted));
		mw_text_print(v->out, fitted);
		return;
	}
	size_t least = mw_room_of(v->columns) == MW_ROOM_ONE ? NARROW_NAME_WIDTH : NAME_WIDTH_MIN;
	mw_fit_name(name, columns > used + least ? columns - used : least, fitted, sizeof(fitted));
	mw_text_print(v->out, fitted);
}

void mw_view_routine(const mw_view_t *v, const char *name, const char *file) {
	static const char mark[] = "ROUTINE ======================== ";
	/* If the line does not fit the terminal, the name gets a line of its own. */
	size_t whole = strlen(mark) + mw_text_width(name) + strlen(" in ") + mw_text_width(file);
	bool fits = v->columns == 0 || whole <= (size_t)v->columns;
	if (fits)
		fputs(mark, v->out);
	mw_view_name(v, name, fits ? strlen(mark) : 0);
	fputs(fits ? " in " : "\n  in ", v->out);
	mw_view_name(v, file, fits ? whole - mw_text_width(file) : strlen("  in "));
	fputc('\n', v->out);
}
