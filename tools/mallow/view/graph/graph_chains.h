/* SPDX-License-Identifier: MIT
 * graph_chains.h -- chains of functions with a single caller each, which a picture for people
 * draws as one box.
 * Layer: view/graph. */
#ifndef MW_TOOL_VIEW_GRAPH_GRAPH_CHAINS_H
#define MW_TOOL_VIEW_GRAPH_GRAPH_CHAINS_H

#include "view/graph/graph.h"

/* next[i]: number of the node that follows node i in its chain; 0 = none.  previous[i]: likewise
 * the node before it. */
typedef struct mw_chains {
	uint32_t *next, *previous;
} mw_chains_t;

/* Finds the chains of a graph.  A node is followed by another one of its chain if it calls only
 * that one, is its only caller, and holds nothing itself: the chain has the value of its last node
 * alone.  `is_folding` false: there are none. */
mw_chains_t mw_chains_find(const mw_graph_t *graph, bool is_folding);
void mw_chains_free(mw_chains_t *chains);

#endif
