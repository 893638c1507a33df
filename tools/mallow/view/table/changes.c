/* SPDX-License-Identifier: MIT
 * changes.c -- prints the growth of functions; `diff` between two profiles. */
#include "view/table/changes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "report/text/names.h"
#include "report/text/style.h"
#include "report/text/units.h"
#include "view/common/json.h"
#include "view/common/values.h"
#include "view/table/tables.h"

/* Chance below which growth is coloured as certain: the usual 5 of 100. */
#define P_VALUE_SMALL 0.05

typedef struct time_unit {
	double longest_seconds; /* longest time between the profiles that takes the unit */
	double seconds;
	const char *name;
} time_unit_t;

/* Returns the unit in which growth over so long a time is easy to read. */
static const time_unit_t *time_unit_of(double seconds) {
	static const time_unit_t units[] = {
		{120, 1, "s"}, {7200, 60, "min"}, {5 * 86400, 3600, "h"}, {INFINITY, 86400, "day"}};
	const time_unit_t *unit = units;
	while (seconds > unit->longest_seconds)
		unit++;
	return unit;
}

double mw_change_p_value(const mw_change_t *change) {
	return change->variance > 0 ? erfc(fabs(change->fitted) / sqrt(2 * change->variance)) : 0;
}

static int64_t clamped(double value) {
	return value > 0x1p62    ? (int64_t)1 << 62
	       : value < -0x1p62 ? -((int64_t)1 << 62)
				 : (int64_t)value;
}

/* Formats a growth with its sign. */
static const char *growth(const mw_view_t *v, const char *unit, int64_t value,
			  char text[MW_VALUE_BYTES]) {
	char number[MW_VALUE_BYTES];
	snprintf(text, MW_VALUE_BYTES, "%s%s", value > 0 ? "+" : "",
		 mw_view_value(v, unit, value, number));
	return text;
}

static const char *p_value_text(const mw_change_t *row, char text[MW_VALUE_BYTES]) {
	double percent = 100 * mw_change_p_value(row);
	if (row->flat == 0 && row->fitted == 0)
		*text = '\0';
	else if (percent < 0.1)
		snprintf(text, MW_VALUE_BYTES, "<0.1%%");
	else
		snprintf(text, MW_VALUE_BYTES, "%.*f%%", percent < 10 ? 1 : 0, percent);
	return text;
}

static void print_heads(const mw_view_t *v, const mw_changes_t *c) {
	char per[32];
	snprintf(per, sizeof(per), "per %s", time_unit_of(c->seconds)->name);
	mw_room_t room = mw_room_of(v->columns);
	fprintf(v->out, "%s%10s", mw_style(MW_STYLE_HEAD), "change");
	if (room == MW_ROOM_ALL)
		fprintf(v->out, " %6s", "flat%");
	if (c->seconds > 0 && room != MW_ROOM_ONE)
		fprintf(v->out, " %11s", per);
	if (c->steps > 1 && room == MW_ROOM_ALL)
		fprintf(v->out, " %7s", "grew");
	if (c->has_variance && room == MW_ROOM_ALL)
		fprintf(v->out, " %7s", "p-value");
	if (room == MW_ROOM_ALL)
		fprintf(v->out, " %10s", "cum");
	fprintf(v->out, "  function%s\n", mw_style(MW_STYLE_PLAIN));
}

/* Red is certain growth, green is certain shrinking. */
static const char *style_of(const mw_change_t *row) {
	if (row->fitted > -1 && row->fitted < 1)
		return "";
	if (mw_change_p_value(row) > P_VALUE_SMALL)
		return "";
	return mw_style(row->fitted > 0 ? MW_STYLE_BAD : MW_STYLE_GOOD);
}

static void print_row(const mw_view_t *v, const mw_changes_t *c, const mw_change_t *row,
		      const char *unit) {
	char text[MW_VALUE_BYTES], grew[MW_VALUE_BYTES];
	mw_room_t room = mw_room_of(v->columns);
	int64_t each =
		c->seconds > 0
			? clamped(row->fitted / c->seconds * time_unit_of(c->seconds)->seconds)
			: 0;
	fputs(style_of(row), v->out);
	int width = fprintf(v->out, "%10s", growth(v, unit, row->flat, text));
	if (room == MW_ROOM_ALL)
		width += fprintf(v->out, " %s", mw_view_percent(row->flat, v->total, text));
	if (c->seconds > 0 && room != MW_ROOM_ONE)
		width += fprintf(v->out, " %11s", growth(v, unit, each, text));
	snprintf(grew, sizeof(grew), "%u/%u", row->grew, c->steps);
	if (c->steps > 1 && room == MW_ROOM_ALL)
		width += fprintf(v->out, " %7s", grew);
	if (c->has_variance && room == MW_ROOM_ALL)
		width += fprintf(v->out, " %7s", p_value_text(row, text));
	if (room == MW_ROOM_ALL)
		width += fprintf(v->out, " %10s", growth(v, unit, row->cum, text));
	width += fprintf(v->out, "  ");
	mw_view_name(v, row->name, (size_t)width);
	fprintf(v->out, "%s\n", *style_of(row) != '\0' ? mw_style(MW_STYLE_PLAIN) : "");
}

static void add_change(mw_json_t *j, const mw_changes_t *c, const mw_change_t *row) {
	mw_json_add_number(j, "flat", row->flat);
	if (c->seconds > 0)
		mw_json_add_real(j, "per_second", row->fitted / c->seconds);
	if (c->has_variance)
		mw_json_add_real(j, "chance", mw_change_p_value(row));
	if (c->steps > 1)
		mw_json_add_number(j, "grew", row->grew);
}

static void print_json(const mw_view_t *v, const mw_changes_t *c) {
	mw_json_t j;
	mw_json_begin(&j, v);
	mw_json_add_number(&j, "steps", c->steps);
	if (c->seconds > 0)
		mw_json_add_number(&j, "span_ns", clamped(c->seconds * 1e9));
	mw_json_open(&j, "change", '{');
	add_change(&j, c, &c->whole);
	mw_json_close(&j);
	mw_json_add_number(&j, "dropped", (int64_t)c->dropped);
	mw_json_open(&j, "rows", '[');
	for (size_t i = 0; i < c->count; i++) {
		mw_json_open(&j, NULL, '{');
		add_change(&j, c, &c->rows[i]);
		mw_json_add_number(&j, "cum", c->rows[i].cum);
		mw_json_add_text(&j, "name", c->rows[i].name);
		mw_json_close(&j);
	}
	mw_json_end(&j);
}

/* Prints the growth of the whole, of more than two profiles. */
static void print_slope(const mw_view_t *v, const mw_changes_t *c, const char *unit) {
	char each[MW_VALUE_BYTES], time[MW_VALUE_BYTES], p_value[MW_VALUE_BYTES];
	const time_unit_t *per = time_unit_of(c->seconds);
	int64_t slope = clamped(c->whole.fitted / c->seconds * per->seconds);
	fprintf(v->out, "Slope: %s/%s over %u profiles in %s\n       it grew in %u of %u steps",
		growth(v, unit, slope, each), per->name, c->steps + 1,
		mw_format_nanoseconds(clamped(c->seconds * 1e9), time, sizeof(time)), c->whole.grew,
		c->steps);
	if (c->has_variance)
		fprintf(v->out, "; p-value %s", p_value_text(&c->whole, p_value));
	fputc('\n', v->out);
}

void mw_changes_print(const mw_view_t *v, const mw_changes_t *c, const char *unit) {
	if (v->json) {
		print_json(v, c);
		return;
	}
	if (c->steps > 1)
		print_slope(v, c, unit);
	if (c->count == 0) {
		fputs(c->dropped > 0
			      ? "all changes are too small to show; --trim=false shows them\n"
			      : "nothing changed\n",
		      v->out);
		return;
	}
	print_heads(v, c);
	for (size_t i = 0; i < c->count; i++)
		print_row(v, c, &c->rows[i], unit);
}

int mw_view_diff(const mw_view_t *v, mw_error_t *error) {
	(void)error;
	const mw_profile_t *p = v->profile;
	if (v->changes != NULL) {
		if (!v->json)
			mw_view_header(v, NULL, mw_view_unit(v, NULL));
		mw_changes_print(v, v->changes, mw_view_unit(v, NULL));
		return 0;
	}
	mw_graph_t *g = mw_graph_new(p, &v->graph);
	const char *unit = mw_view_unit(v, g);
	double seconds = p->time_ns > 0 && p->origin.base_time_ns > 0
				 ? ((double)p->time_ns - (double)p->origin.base_time_ns) / 1e9
				 : 0;
	mw_changes_t c = {
		.rows = mw_xcalloc(mw_graph_count(g) + 1, sizeof(mw_change_t)),
		.count = mw_graph_count(g),
		.seconds = seconds > 0 ? seconds : 0,
		.steps = 1,
		.has_variance = v->graph.variances != NULL,
		.dropped = mw_graph_dropped_nodes(g),
	};
	for (size_t i = 0; i < c.count; i++) {
		const mw_node_t *n = mw_graph_node(g, i);
		c.rows[i] = (mw_change_t){n->text,         n->flat,          n->cum,
					  (double)n->flat, n->flat_variance, n->flat > 0};
	}
	c.whole.flat = mw_profile_total(p, v->type);
	c.whole.fitted = (double)c.whole.flat;
	for (size_t i = 0; c.has_variance && i < p->sample_count; i++)
		c.whole.variance += v->graph.variances[i];
	if (!v->json)
		mw_view_header(v, g, unit);
	mw_changes_print(v, &c, unit);
	free(c.rows);
	mw_graph_free(g);
	return 0;
}
