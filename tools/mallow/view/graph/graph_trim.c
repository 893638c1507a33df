/* SPDX-License-Identifier: MIT
 * graph_trim.c -- decides which nodes and edges of a graph are shown, and their order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "view/graph/graph_parts.h"

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

/* Returns how evenly the weights are spread over the edges, in bits; `self` is the node's own
 * value.  Magnitudes count, so negative values do, too. (pprof takes logarithms of negative
 * shares, whose order depends on the processor.) */
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

/* Returns how much a node tells: its value and how much it branches.  Entries and leaves count
 * as branching.  The result is a whole number as in pprof, so differences below 1 do not count. */
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

/* Orders the nodes that have a value. */
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

/* Limits the edges of a node as jeprof does: the heaviest stay, and one edge into each node
 * stays, so that the node remains connected. */
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

/* True if the caller reaches the callee without this edge, searching backwards from the callee.
 * `seen` and `queue` have room for each node. */
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

/* Drops residual edges that run parallel to other paths, as pprof does in pictures.  The
 * lightest are dropped first, and none that is heavier than a direct edge. */
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

/* Drops edges to nodes with negative values, which a picture does not show. */
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

/* Returns the value from which nodes are shown: a share of the total.  A node with exactly this
 * value is shown. */
static uint64_t cutoff_of(const mw_graph_t *g, double fraction) {
	double total = 0;
	for (size_t i = 0; i < g->order_count; i++)
		total += (double)g->nodes[g->order[i]].flat;
	return (uint64_t)fmin(fabs(total * fraction), 0x1p62);
}

/* Returns how many of the ordered nodes are shown.  In pictures, boxes count, too, as in pprof. */
static size_t nodes_within_limit(const mw_graph_t *g) {
	size_t limit = g->options.node_count, boxes = 0;
	for (size_t i = 0; g->options.is_picture && i < g->order_count; i++) {
		boxes += mw_graph_tags_count(g, g->order[i]) + 1;
		if (boxes >= limit)
			return i + 1;
	}
	return limit < g->order_count ? limit : g->order_count;
}

/* Orders the kept nodes again.  Only the order in a picture depends on edges. */
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
