/* SPDX-License-Identifier: MIT
 * graph_trim.c -- which nodes and edges of a graph are shown, and in which order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/alloc.h"
#include "view/graph_parts.h"

uint64_t mw_magnitude(int64_t value) {
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

int mw_compare_magnitudes(int64_t a, int64_t b) {
	uint64_t x = mw_magnitude(a), y = mw_magnitude(b);
	return x > y ? -1 : x < y;
}

static int compare_flat(const void *left, const void *right, void *context) {
	const mw_node_t *nodes = ((const mw_graph_t *)context)->nodes;
	const mw_node_t *a = &nodes[*(const uint32_t *)left], *b = &nodes[*(const uint32_t *)right];
	int order = mw_compare_magnitudes(a->flat, b->flat);
	if (order == 0)
		order = strcmp(a->text, b->text);
	return order != 0 ? order : mw_compare_magnitudes(a->cum, b->cum);
}

static int compare_cum(const void *left, const void *right, void *context) {
	const mw_node_t *nodes = ((const mw_graph_t *)context)->nodes;
	const mw_node_t *a = &nodes[*(const uint32_t *)left], *b = &nodes[*(const uint32_t *)right];
	int order = mw_compare_magnitudes(a->cum, b->cum);
	if (order == 0)
		order = strcmp(a->text, b->text);
	return order != 0 ? order : mw_compare_magnitudes(a->flat, b->flat);
}

static int compare_edges(const void *left, const void *right, void *context) {
	const mw_graph_t *g = context;
	const mw_edge_t *a = &g->edges[*(const size_t *)left],
			*b = &g->edges[*(const size_t *)right];
	int order = mw_compare_magnitudes(a->weight, b->weight);
	if (order == 0)
		order = strcmp(g->nodes[a->caller].text, g->nodes[b->caller].text);
	return order != 0 ? order : strcmp(g->nodes[a->callee].text, g->nodes[b->callee].text);
}

void mw_graph_link(mw_graph_t *g) {
	for (size_t i = 1; i < g->node_count; i++)
		g->nodes[i].in_count = g->nodes[i].out_count = 0;
	for (size_t i = 1; i < g->edge_count; i++)
		if (!g->edges[i].is_dropped) {
			g->nodes[g->edges[i].caller].out_count++;
			g->nodes[g->edges[i].callee].in_count++;
		}
	free(g->links);
	size_t *next = g->links = mw_xcalloc(2 * g->edge_count, sizeof(size_t));
	for (size_t i = 1; i < g->node_count; i++) {
		mw_node_t *n = &g->nodes[i];
		n->in = next;
		n->out = next + n->in_count;
		next += n->in_count + n->out_count;
		n->in_count = n->out_count = 0;
	}
	for (size_t i = 1; i < g->edge_count; i++)
		if (!g->edges[i].is_dropped) {
			mw_node_t *caller = &g->nodes[g->edges[i].caller];
			mw_node_t *callee = &g->nodes[g->edges[i].callee];
			caller->out[caller->out_count++] = i;
			callee->in[callee->in_count++] = i;
		}
	for (size_t i = 1; i < g->node_count; i++) {
		mw_node_t *n = &g->nodes[i];
		qsort_r(n->in, n->in_count, sizeof(size_t), compare_edges, g);
		qsort_r(n->out, n->out_count, sizeof(size_t), compare_edges, g);
	}
}

/* How evenly the weights spread over the edges, in bits; `self` is the node's own.  Of what shrank
 * magnitudes count.  (pprof takes logarithms of negative shares there, and its order is left to
 * what the processor makes of that.) */
static double spread(const mw_graph_t *g, const size_t *edges, size_t count, int64_t self) {
	double total = fabs((double)self), bits = 0;
	for (size_t i = 0; i < count; i++)
		total += fabs((double)g->edges[edges[i]].weight);
	for (size_t i = 0; i <= count; i++) {
		int64_t weight = i < count ? g->edges[edges[i]].weight : self;
		double share = fabs((double)weight) / total;
		if (weight != 0)
			bits -= share * log2(share);
	}
	return bits;
}

/* A node is worth showing by what it holds and by how much it branches; entries and leaves count
 * as branching.  In whole numbers, as pprof counts: a difference below one is none. */
static double worth(const mw_graph_t *g, const mw_node_t *n) {
	double bits = n->in_count == 0 ? 1 : spread(g, n->in, n->in_count, 0);
	bits += n->out_count == 0 ? 1 : spread(g, n->out, n->out_count, n->flat);
	return trunc(bits * fabs((double)n->cum)) + fabs((double)n->flat);
}

typedef struct worth_entry {
	double worth;
	uint32_t node;
} worth_entry_t;

static int compare_worth(const void *left, const void *right, void *context) {
	const worth_entry_t *a = left, *b = right;
	const mw_node_t *nodes = ((const mw_graph_t *)context)->nodes;
	if (a->worth > b->worth || a->worth < b->worth)
		return a->worth > b->worth ? -1 : 1;
	int order = strcmp(nodes[a->node].text, nodes[b->node].text);
	return order != 0 ? order : mw_compare_magnitudes(nodes[a->node].flat, nodes[b->node].flat);
}

static void sort_by_worth(mw_graph_t *g) {
	worth_entry_t *entries = mw_xcalloc(g->order_count, sizeof(*entries));
	for (size_t i = 0; i < g->order_count; i++)
		entries[i] = (worth_entry_t){worth(g, &g->nodes[g->order[i]]), g->order[i]};
	qsort_r(entries, g->order_count, sizeof(*entries), compare_worth, g);
	for (size_t i = 0; i < g->order_count; i++)
		g->order[i] = entries[i].node;
	free(entries);
}

static bool is_negative(const mw_node_t *n) {
	return n->flat < 0 || (n->flat == 0 && n->cum < 0);
}

/* The nodes that hold something, sorted. */
static void put_in_order(mw_graph_t *g) {
	g->order = mw_xrealloc(g->order, g->node_count, sizeof(uint32_t));
	g->order_count = 0;
	for (size_t i = 1; i < g->node_count; i++) {
		const mw_node_t *n = &g->nodes[i];
		if (n->is_kept && (n->flat != 0 || n->cum != 0) &&
		    !(g->options.drop_negative && is_negative(n)))
			g->order[g->order_count++] = (uint32_t)i;
	}
	if (g->options.is_picture)
		sort_by_worth(g);
	else
		qsort_r(g->order, g->order_count, sizeof(uint32_t),
			g->options.sort_by_cum ? compare_cum : compare_flat, g);
}

static void keep_only_ordered(mw_graph_t *g) {
	for (size_t i = 1; i < g->node_count; i++)
		g->nodes[i].is_kept = false;
	for (size_t i = 0; i < g->order_count; i++)
		g->nodes[g->order[i]].is_kept = true;
	mw_graph_accumulate(g);
}

static void drop_edges(mw_graph_t *g, uint64_t cutoff) {
	g->dropped_edges = 0;
	for (size_t i = 1; i < g->edge_count; i++) {
		g->edges[i].is_dropped = mw_magnitude(g->edges[i].weight) < cutoff;
		g->dropped_edges += g->edges[i].is_dropped;
	}
	mw_graph_link(g);
}

size_t *mw_graph_edges(const mw_graph_t *g, size_t *count) {
	size_t *edges = mw_xcalloc(g->edge_count, sizeof(*edges));
	*count = 0;
	for (size_t i = 1; i < g->edge_count; i++)
		if (!g->edges[i].is_dropped)
			edges[(*count)++] = i;
	qsort_r(edges, *count, sizeof(*edges), compare_edges, (void *)g);
	return edges;
}

/* As jeprof: the heaviest first; one edge into each node stays, so that it can be reached. */
static void limit_degree(mw_graph_t *g) {
	size_t limit = g->options.max_degree, count;
	size_t *edges = mw_graph_edges(g, &count);
	size_t *in = mw_xcalloc(g->node_count, sizeof(*in));
	size_t *out = mw_xcalloc(g->node_count, sizeof(*out));
	for (size_t i = 0; i < count; i++) {
		mw_edge_t *e = &g->edges[edges[i]];
		e->is_dropped =
			in[e->callee] > 0 && (in[e->callee] >= limit || out[e->caller] >= limit);
		in[e->callee] += !e->is_dropped;
		out[e->caller] += !e->is_dropped;
	}
	free(edges);
	free(in);
	free(out);
	mw_graph_link(g);
}

/* Whether the caller reaches the callee without this edge, going back from the callee.  `seen` and
 * `queue` have room for each node. */
static bool has_other_way(const mw_graph_t *g, size_t edge, bool *seen, uint32_t *queue) {
	uint32_t caller = g->edges[edge].caller;
	size_t taken = 0, count = 0;
	memset(seen, 0, g->node_count * sizeof(*seen));
	queue[count++] = g->edges[edge].callee;
	seen[g->edges[edge].callee] = true;
	while (taken < count) {
		const mw_node_t *n = &g->nodes[queue[taken++]];
		for (size_t i = 0; i < n->in_count; i++) {
			const mw_edge_t *in = &g->edges[n->in[i]];
			if (n->in[i] == edge || in->is_dropped || seen[in->caller])
				continue;
			if (in->caller == caller)
				return true;
			seen[in->caller] = true;
			queue[count++] = in->caller;
		}
	}
	return false;
}

/* As pprof, in pictures: an edge that stands for calls by way of nodes left out says little where
 * another way is shown; the lightest go first, and none that is heavier than a plain one. */
static void drop_redundant(mw_graph_t *g) {
	bool *seen = mw_xcalloc(g->node_count, sizeof(*seen));
	uint32_t *queue = mw_xcalloc(g->node_count, sizeof(*queue));
	for (size_t i = g->order_count; i > 0; i--) {
		const mw_node_t *n = &g->nodes[g->order[i - 1]];
		for (size_t k = n->in_count; k > 0 && g->edges[n->in[k - 1]].is_residual; k--)
			g->edges[n->in[k - 1]].is_dropped =
				has_other_way(g, n->in[k - 1], seen, queue);
	}
	free(seen);
	free(queue);
	mw_graph_link(g);
}

/* A node that shrank is none of the picture, and what goes there, too. */
static void drop_edges_of_hidden(mw_graph_t *g) {
	bool *is_shown = mw_xcalloc(g->node_count, sizeof(*is_shown));
	for (size_t i = 0; i < g->order_count; i++)
		is_shown[g->order[i]] = true;
	for (size_t i = 1; i < g->edge_count; i++)
		g->edges[i].is_dropped |=
			!is_shown[g->edges[i].caller] || !is_shown[g->edges[i].callee];
	free(is_shown);
	mw_graph_link(g);
}

/* A share of the total; a node of exactly that much is shown. */
static uint64_t cutoff_of(const mw_graph_t *g, double fraction) {
	double total = 0;
	for (size_t i = 0; i < g->order_count; i++)
		total += (double)g->nodes[g->order[i]].flat;
	return (uint64_t)fmin(fabs(total * fraction), 0x1p62);
}

/* How many of the ordered nodes are shown.  In pictures their boxes count, too, as pprof counts
 * them. */
static size_t nodes_within_limit(const mw_graph_t *g) {
	size_t limit = g->options.node_count, boxes = 0;
	for (size_t i = 0; g->options.is_picture && i < g->order_count; i++) {
		boxes += mw_graph_tags_count(g, g->order[i]) + 1;
		if (boxes >= limit)
			return i + 1;
	}
	return limit < g->order_count ? limit : g->order_count;
}

/* Of what is kept.  Only a picture's order depends on edges. */
static void order_again(mw_graph_t *g) {
	if (g->options.is_picture)
		mw_graph_link(g);
	put_in_order(g);
}

void mw_graph_trim(mw_graph_t *g) {
	const mw_graph_options_t *o = &g->options;
	order_again(g);
	uint64_t node_cutoff = cutoff_of(g, o->node_fraction);
	uint64_t edge_cutoff = cutoff_of(g, o->edge_fraction);
	size_t kept = 0;
	if (g->tags != NULL)
		g->tags->cutoff = node_cutoff;
	for (size_t i = 0; i < g->order_count; i++)
		if (mw_magnitude(g->nodes[g->order[i]].cum) >= node_cutoff)
			g->order[kept++] = g->order[i];
	g->dropped_nodes = g->order_count - kept;
	g->order_count = kept;
	if (g->dropped_nodes > 0) {
		keep_only_ordered(g);
		order_again(g);
	}
	g->original_count = g->order_count;
	size_t shown = o->node_count > 0 ? nodes_within_limit(g) : g->order_count;
	if (shown < g->order_count) {
		g->order_count = shown;
		keep_only_ordered(g);
		order_again(g);
	}
	drop_edges(g, edge_cutoff);
	if (o->is_picture && o->drop_negative)
		drop_edges_of_hidden(g);
	if (o->is_picture)
		drop_redundant(g);
	if (o->max_degree > 0)
		limit_degree(g);
}
