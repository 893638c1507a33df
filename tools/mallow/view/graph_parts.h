/* SPDX-License-Identifier: MIT
 * graph_parts.h -- the graph's inside, for the two files it is made of.
 * Layer: tools/view.  Private to them. */
#ifndef MW_TOOL_VIEW_GRAPH_PARTS_H
#define MW_TOOL_VIEW_GRAPH_PARTS_H

#include "model/table.h"
#include "view/graph.h"

struct mw_graph {
	const mw_profile_t *profile;
	mw_graph_options_t options;
	mw_node_t *nodes; /* [0] is none */
	size_t node_count, node_capacity;
	mw_edge_t *edges; /* [0] is none */
	size_t edge_count, edge_capacity;
	mw_table_t node_table, edge_table;
	/* Nodes found already: by index in the profile's lines, and of locations without lines. */
	uint32_t *of_line, *of_location;
	size_t *links; /* of all nodes */
	uint32_t *order;
	size_t order_count;
	size_t original_count, dropped_nodes;
};

/* Sums up, leaving out nodes that are not kept. */
void mw_graph_accumulate(mw_graph_t *graph);
/* Fills in `in` and `out` of the nodes with the edges that are not dropped. */
void mw_graph_link(mw_graph_t *graph);
/* Drops what is too small and puts the rest in order. */
void mw_graph_trim(mw_graph_t *graph);

#endif
