/* SPDX-License-Identifier: MIT
 * graph_parts.h -- the graph's inside, for the files it is made of.
 * Layer: tools/view.  Private to them. */
#ifndef MW_TOOL_VIEW_GRAPH_PARTS_H
#define MW_TOOL_VIEW_GRAPH_PARTS_H

#include "model/table.h"
#include "view/graph.h"

/* All text labels of a sample, a line each ("key:value"), or a size ("64B"), which has no colon. */
typedef struct mw_tag_name {
	char *text;
	int64_t size; /* in bytes, the first in the profile that reads like this */
} mw_tag_name_t;

/* Of the samples of one node with one text (0: none) and one size (0: whichever). */
typedef struct mw_tag_sum {
	uint32_t node, text, size;
	uint32_t next; /* of the same node; 0: none */
	int64_t flat, flat_divisor;
	int64_t cum, cum_divisor;
} mw_tag_sum_t;

typedef struct mw_graph_tags {
	mw_tag_name_t *names; /* [0] is none */
	size_t name_count, name_capacity;
	mw_table_t name_table;
	uint32_t *text_of_sample; /* a name */
	uint32_t *size_of_label;  /* likewise, of the profile's labels */
	mw_string_t size_key;
	mw_tag_sum_t *sums; /* [0] is none */
	size_t sum_count, sum_capacity;
	mw_table_t sum_table;
	uint64_t cutoff; /* sums below are not shown */
} mw_graph_tags_t;

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
	size_t original_count, dropped_nodes, dropped_edges;
	mw_graph_tags_t *tags; /* NULL: no picture, or nothing is labelled */
};

/* Saturating. */
void mw_graph_add(int64_t *sum, int64_t value);
/* A mean; by 0: nothing is done. */
void mw_graph_divide(int64_t *sum, int64_t divisor);

uint64_t mw_magnitude(int64_t value);
/* For qsort: the larger one first, whatever its sign. */
int mw_compare_magnitudes(int64_t a, int64_t b);

/* Names what the samples are labelled with. */
void mw_graph_tags_begin(mw_graph_t *graph);
void mw_graph_tags_free(mw_graph_t *graph);
/* Forgets the sums. */
void mw_graph_tags_reset(mw_graph_t *graph);
/* What a sample adds to a node. */
typedef struct mw_tagged_value {
	size_t sample;
	int64_t value, divisor;
	bool is_flat; /* else cumulative */
} mw_tagged_value_t;
void mw_graph_tags_add(mw_graph_t *graph, uint32_t node, const mw_tagged_value_t *value);
bool mw_tag_sum_is_shown(const mw_graph_tags_t *tags, const mw_tag_sum_t *sum);
/* How many boxes a node is counted to have when the shown ones are chosen. */
size_t mw_graph_tags_count(const mw_graph_t *graph, uint32_t node);

/* Sums up, leaving out nodes that are not kept. */
void mw_graph_accumulate(mw_graph_t *graph);
/* Fills in `in` and `out` of the nodes with the edges that are not dropped. */
void mw_graph_link(mw_graph_t *graph);
/* Drops what is too small and puts the rest in order. */
void mw_graph_trim(mw_graph_t *graph);

#endif
