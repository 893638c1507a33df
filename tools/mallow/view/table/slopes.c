/* SPDX-License-Identifier: MIT
 * slopes.c -- keeps each function's values in several profiles, and fits a line to them. */
#include "view/table/slopes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "model/table.h"

/* What a function holds in one profile. */
typedef struct held {
	int64_t flat, cum;
	double variance; /* sampling variance of `flat` */
} held_t;

typedef struct row {
	char *name;
	held_t *held; /* held[k]: in profile k; `count` entries of mw_slopes */
} row_t;

struct mw_slopes {
	size_t count;     /* number of profiles */
	int64_t *time_ns; /* time_ns[k]: time of profile k */
	size_t *order;    /* numbers of the profiles, the earliest first */
	held_t *whole;    /* whole[k]: sums over the selection of profile k */
	row_t *rows;      /* rows[0] is unused */
	size_t row_count, row_capacity;
	mw_table_t by_name;
	bool has_variance;
};

static bool name_equal(const void *context, uint32_t entry, const void *key) {
	return strcmp(((const row_t *)context)[entry].name, key) == 0;
}

static row_t *find_row(mw_slopes_t *s, const char *name) {
	uint64_t hash = mw_table_hash(name, strlen(name));
	uint32_t found = mw_table_find(&s->by_name, hash, name_equal, s->rows, name);
	if (found != 0)
		return &s->rows[found];
	s->rows = mw_grow(s->rows, &s->row_capacity, s->row_count + 1, sizeof(row_t));
	row_t *row = &s->rows[s->row_count];
	*row = (row_t){mw_xstrdup(name), mw_xcalloc(s->count, sizeof(held_t))};
	mw_table_add(&s->by_name, hash, (uint32_t)s->row_count++);
	return row;
}

void mw_slopes_add(mw_slopes_t *s, size_t k, const mw_view_t *v, int64_t time_ns) {
	s->time_ns[k] = time_ns;
	mw_graph_options_t all = v->graph;
	all.node_count = all.max_degree = 0;
	all.node_fraction = all.edge_fraction = 0;
	mw_graph_t *g = mw_graph_new(v->profile, &all);
	for (size_t i = 0; i < mw_graph_count(g); i++) {
		const mw_node_t *n = mw_graph_node(g, i);
		find_row(s, n->text)->held[k] = (held_t){n->flat, n->cum, n->flat_variance};
		s->whole[k].variance += n->flat_variance;
	}
	s->whole[k].flat = s->whole[k].cum = mw_profile_total(v->profile, v->type);
	s->has_variance |= v->graph.variances != NULL;
	mw_graph_free(g);
}

static int compare_times(const void *a, const void *b, void *context) {
	const int64_t *time_ns = context;
	int64_t x = time_ns[*(const size_t *)a], y = time_ns[*(const size_t *)b];
	return (x > y) - (x < y);
}

/* Returns the weight of profile `k` in the slope by least squares: its distance in time from the
 * mean, divided by the sum of all squared distances.  The slope is per second. */
static double *weights_of(const mw_slopes_t *s) {
	double *weights = mw_xcalloc(s->count, sizeof(double)), mean = 0, squares = 0;
	int64_t first = s->time_ns[s->order[0]];
	for (size_t k = 0; k < s->count; k++)
		mean += (double)(s->time_ns[k] - first) / 1e9 / (double)s->count;
	for (size_t k = 0; k < s->count; k++) {
		weights[k] = (double)(s->time_ns[k] - first) / 1e9 - mean;
		squares += weights[k] * weights[k];
	}
	for (size_t k = 0; k < s->count; k++)
		weights[k] /= squares;
	return weights;
}

static mw_change_t fit(const mw_slopes_t *s, const char *name, const held_t *held,
		       const double *weights, double seconds) {
	const held_t *first = &held[s->order[0]], *last = &held[s->order[s->count - 1]];
	mw_change_t change = {
		.name = name, .flat = last->flat - first->flat, .cum = last->cum - first->cum};
	for (size_t k = 0; k < s->count; k++) {
		double weight = weights[k] * seconds;
		change.fitted += weight * (double)held[k].flat;
		change.variance += weight * weight * held[k].variance;
		change.grew += k > 0 && held[s->order[k]].flat > held[s->order[k - 1]].flat;
	}
	return change;
}

static int compare_changes(const void *a, const void *b) {
	const mw_change_t *x = a, *y = b;
	double p = fabs(x->fitted), q = fabs(y->fitted);
	if (p > q || p < q)
		return p < q ? 1 : -1;
	p = fabs((double)x->cum), q = fabs((double)y->cum);
	if (p > q || p < q)
		return p < q ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* Sorts the rows, and leaves out those that changed by less than the share of the total that
 * --nodefraction sets. */
static void make_changes(const mw_slopes_t *s, const mw_view_t *v, mw_changes_t *c) {
	int64_t span_ns = s->time_ns[s->order[s->count - 1]] - s->time_ns[s->order[0]];
	c->seconds = (double)span_ns / 1e9;
	double *weights = weights_of(s);
	c->steps = (unsigned)s->count - 1;
	c->has_variance = s->has_variance;
	c->whole = fit(s, "", s->whole, weights, c->seconds);
	c->rows = mw_xcalloc(s->row_count, sizeof(mw_change_t));
	double least = (double)s->whole[s->order[s->count - 1]].flat * v->graph.node_fraction;
	for (size_t i = 1; i < s->row_count; i++) {
		mw_change_t change = fit(s, s->rows[i].name, s->rows[i].held, weights, c->seconds);
		bool is_small = least > 0 && fabs(change.fitted) <= least &&
				fabs((double)change.cum) <= least;
		c->dropped += is_small;
		if (!is_small)
			c->rows[c->count++] = change;
	}
	free(weights);
	if (c->count > 1)
		qsort(c->rows, c->count, sizeof(mw_change_t), compare_changes);
	if (v->graph.node_count > 0 && c->count > v->graph.node_count)
		c->count = v->graph.node_count;
}

mw_slopes_t *mw_slopes_new(size_t count) {
	mw_slopes_t *s = mw_xcalloc(1, sizeof(*s));
	s->count = count;
	s->time_ns = mw_xcalloc(count, sizeof(int64_t));
	s->order = mw_xcalloc(count, sizeof(size_t));
	s->whole = mw_xcalloc(count, sizeof(held_t));
	s->rows = mw_grow(NULL, &s->row_capacity, 1, sizeof(row_t));
	s->row_count = 1;
	return s;
}

void mw_slopes_free(mw_slopes_t *s) {
	for (size_t i = 1; i < s->row_count; i++) {
		free(s->rows[i].name);
		free(s->rows[i].held);
	}
	mw_table_clear(&s->by_name);
	free(s->rows);
	free(s->whole);
	free(s->order);
	free(s->time_ns);
	free(s);
}

int mw_slopes_fit(mw_slopes_t *s, mw_view_t *v, mw_changes_t *changes, mw_error_t *error) {
	*changes = (mw_changes_t){0};
	for (size_t k = 0; k < s->count; k++)
		s->order[k] = k;
	qsort_r(s->order, s->count, sizeof(size_t), compare_times, s->time_ns);
	if (s->time_ns[s->order[0]] >= s->time_ns[s->order[s->count - 1]])
		return mw_error_set(error, "diff: all profiles have the same time; give profiles "
					   "of different times, or only two");
	make_changes(s, v, changes);
	v->total = s->whole[s->order[0]].flat;
	v->changes = changes;
	return 0;
}
