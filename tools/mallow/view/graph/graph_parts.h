/* SPDX-License-Identifier: MIT
 * graph_parts.h -- data structures of the graph that graph*.c share.
 * Layer: view/graph.  Private to this folder. */
#ifndef MW_TOOL_VIEW_GRAPH_GRAPH_PARTS_H
#define MW_TOOL_VIEW_GRAPH_GRAPH_PARTS_H

#include "model/table.h"
#include "view/graph/graph.h"

/* Name of a label sum: the text labels of a sample, "key:value" on each line; or a size ("64B"),
 * which has no colon. */
typedef struct mw_tag_name {
	char *text;
	int64_t size; /* size in bytes of the first such label in the profile */
} mw_tag_name_t;

/* Sum over a node's samples with one text (0 = no text) and one size (0 = any size). */
typedef struct mw_tag_sum {
	uint32_t node, text, size;
	uint32_t next; /* next sum of the node; 0 = none */
	int64_t flat, flat_divisor;
	int64_t cum, cum_divisor;
} mw_tag_sum_t;

typedef struct mw_graph_tags {
	mw_tag_name_t *names; /* names[0] is unused */
	size_t name_count, name_capacity;
	mw_table_t name_table;
	uint32_t *text_of_sample; /* text_of_sample[i]: name of the texts of sample i */
	uint32_t *size_of_label;  /* size_of_label[i]: name of the size of label i */
	mw_string_t size_key;
	mw_tag_sum_t *sums; /* sums[0] is unused */
	size_t sum_count, sum_capacity;
	mw_table_t sum_table;
	uint64_t cutoff;  /* smallest sum that is shown */
	bool has_threads; /* names of threads are shown */
} mw_graph_tags_t;

struct mw_graph {
	const mw_profile_t *profile;
	mw_graph_options_t options;
	mw_node_t *nodes; /* nodes[0] is unused */
	size_t node_count, node_capacity;
	mw_edge_t *edges; /* edges[0] is unused */
	size_t edge_count, edge_capacity;
	mw_table_t node_table, edge_table;
	/* Nodes that were found: by index in the profile's lines, and by location without lines. */
	uint32_t *of_line, *of_location;
	size_t *links; /* memory of the nodes' edge lists */
	uint32_t *order;
	size_t order_count;
	size_t original_count, dropped_nodes, dropped_edges;
	mw_graph_tags_t *tags; /* NULL = no picture, or the profile has no labels */
};

/* Adds, limited to the range of int64_t. */
static inline void mw_graph_add(int64_t *sum, int64_t value) {
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value > 0 ? INT64_MAX : INT64_MIN;
}

/* Divides a sum to make a mean.  A divisor of 0 leaves the sum unchanged. */
static inline void mw_graph_divide(int64_t *sum, int64_t divisor) {
	/* INT64_MIN / -1 would overflow and trap. */
	if (divisor != 0)
		*sum = divisor == -1 && *sum == INT64_MIN ? INT64_MAX : *sum / divisor;
}

static inline uint64_t mw_magnitude(int64_t value) {
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

/* Compares for qsort: the larger magnitude first. */
static inline int mw_compare_magnitudes(int64_t a, int64_t b) {
	uint64_t x = mw_magnitude(a), y = mw_magnitude(b);
	return x > y ? -1 : x < y;
}

/* Names the labels of all samples. */
void mw_graph_tags_begin(mw_graph_t *graph);
void mw_graph_tags_free(mw_graph_t *graph);
/* Removes the sums. */
void mw_graph_tags_reset(mw_graph_t *graph);
/* Values that a sample adds to a node. */
typedef struct mw_tagged_value {
	size_t sample;
	int64_t value, divisor;
	bool is_flat; /* true: flat value; false: cumulative value */
} mw_tagged_value_t;
void mw_graph_tags_add(mw_graph_t *graph, uint32_t node, const mw_tagged_value_t *value);
bool mw_tag_sum_is_shown(const mw_graph_tags_t *tags, const mw_tag_sum_t *sum);
/* Returns the number of boxes of a node that counts for the limit on shown nodes. */
size_t mw_graph_tags_count(const mw_graph_t *graph, uint32_t node);

/* Adds up all samples; leaves out nodes that are not kept. */
void mw_graph_accumulate(mw_graph_t *graph);
/* Fills in `in` and `out` of the nodes with the edges that are kept. */
void mw_graph_link(mw_graph_t *graph);
/* Drops small nodes and edges, and orders the others. */
void mw_graph_trim(mw_graph_t *graph);

#endif
