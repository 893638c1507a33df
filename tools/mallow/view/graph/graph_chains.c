/* SPDX-License-Identifier: MIT
 * graph_chains.c -- finds chains of functions with a single caller each. */
#include "view/graph/graph_chains.h"

#include <stdlib.h>

#include "model/memory.h"

/* Returns the number of the node that follows; 0 = none. */
static uint32_t follower(const mw_graph_t *g, const mw_node_t *n) {
	if (n->out_count != 1 || n->flat != 0)
		return 0;
	const mw_edge_t *e = mw_graph_edge_at(g, n->out[0]);
	const mw_node_t *callee = mw_graph_node_at(g, e->callee);
	bool is_chain = !e->is_residual && callee != n && callee->in_count == 1 &&
			e->weight == n->cum && callee->cum == n->cum;
	return is_chain ? e->callee : 0;
}

/* Recursion may close a ring: returns whether `from` comes again behind `to`. */
static bool is_ring(const mw_chains_t *c, uint32_t from, uint32_t to) {
	while (to != 0 && to != from)
		to = c->next[to];
	return to == from;
}

mw_chains_t mw_chains_find(const mw_graph_t *g, bool is_folding) {
	size_t end = mw_graph_node_end(g);
	mw_chains_t c = {mw_xcalloc(end, sizeof(uint32_t)), mw_xcalloc(end, sizeof(uint32_t))};
	for (size_t i = 0; is_folding && i < mw_graph_count(g); i++) {
		const mw_node_t *n = mw_graph_node(g, i);
		uint32_t at = (uint32_t)(n - mw_graph_node_at(g, 0)), next = follower(g, n);
		if (next != 0 && !is_ring(&c, at, next)) {
			c.next[at] = next;
			c.previous[next] = at;
		}
	}
	return c;
}

void mw_chains_free(mw_chains_t *c) {
	free(c->next);
	free(c->previous);
}
