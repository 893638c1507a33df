/* SPDX-License-Identifier: MIT
 * graph.c -- makes a graph: first sums (graph_sums.c), then a choice of what is shown
 * (graph_trim.c). */
#include "view/graph/graph.h"

#include <stdlib.h>

#include "model/memory.h"
#include "view/graph/graph_parts.h"

static void divide_all(mw_graph_t *g) {
	for (size_t i = 1; i < g->node_count; i++) {
		mw_graph_divide(&g->nodes[i].flat, g->nodes[i].flat_divisor);
		mw_graph_divide(&g->nodes[i].cum, g->nodes[i].cum_divisor);
	}
	for (size_t i = 1; i < g->edge_count; i++)
		mw_graph_divide(&g->edges[i].weight, g->edges[i].divisor);
}

mw_graph_t *mw_graph_new(const mw_profile_t *profile, const mw_graph_options_t *options) {
	mw_graph_t *g = mw_xcalloc(1, sizeof(*g));
	g->profile = profile;
	g->options = *options;
	g->of_line = mw_xcalloc(profile->line_count, sizeof(uint32_t));
	g->of_location = mw_xcalloc(profile->location_count, sizeof(uint32_t));
	g->nodes = mw_grow(NULL, &g->node_capacity, 1, sizeof(mw_node_t));
	g->edges = mw_grow(NULL, &g->edge_capacity, 1, sizeof(mw_edge_t));
	g->node_count = g->edge_count = 1;
	if (g->options.is_picture)
		mw_graph_tags_begin(g);
	mw_graph_accumulate(g);
	mw_graph_trim(g);
	/* Division comes last, because the sums decide which nodes are shown and in which order,
	 * as in pprof. */
	if (g->options.is_mean)
		divide_all(g);
	return g;
}

void mw_graph_free(mw_graph_t *g) {
	if (g == NULL)
		return;
	for (size_t i = 1; i < g->node_count; i++)
		free(g->nodes[i].text);
	mw_graph_tags_free(g);
	mw_table_clear(&g->node_table);
	mw_table_clear(&g->edge_table);
	free(g->of_line);
	free(g->of_location);
	free(g->nodes);
	free(g->edges);
	free(g->links);
	free(g->order);
	free(g);
}

size_t mw_graph_count(const mw_graph_t *g) {
	return g->order_count;
}

const mw_node_t *mw_graph_node(const mw_graph_t *g, size_t i) {
	return &g->nodes[g->order[i]];
}

const mw_node_t *mw_graph_node_at(const mw_graph_t *g, uint32_t node) {
	return &g->nodes[node];
}

const mw_edge_t *mw_graph_edge_at(const mw_graph_t *g, size_t edge) {
	return &g->edges[edge];
}

size_t mw_graph_node_end(const mw_graph_t *g) {
	return g->node_count;
}

size_t mw_graph_edge_end(const mw_graph_t *g) {
	return g->edge_count;
}

size_t mw_graph_original_count(const mw_graph_t *g) {
	return g->original_count;
}

size_t mw_graph_dropped_nodes(const mw_graph_t *g) {
	return g->dropped_nodes;
}

size_t mw_graph_dropped_edges(const mw_graph_t *g) {
	return g->dropped_edges;
}
