/* SPDX-License-Identifier: MIT
 * graph.h -- the call graph: nodes with flat and cumulative values, edges with the values of
 * calls.
 * Layer: view/graph.  The folder's door. graph_sums.c adds up, graph_trim.c decides what is
 * shown, graph_tags.c and graph_boxes.c handle labels; these files share graph_parts.h.
 * graph_chains.h finds chains for pictures.
 * The rules are pprof's, so numbers and order equal pprof's.  A stack counts once in a node and
 * in an edge, however often it contains them.  Nodes below a share of the total, and nodes above
 * a number, are left out.  An edge that replaces a removed node joins its neighbours and is
 * called residual.  Nodes and edges are numbered from 1. */
#ifndef MW_TOOL_VIEW_GRAPH_GRAPH_H
#define MW_TOOL_VIEW_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"
#include "view/select/selection.h"
#include "view/select/tags.h"

typedef struct mw_node {
	mw_string_t name;   /* function */
	mw_string_t file;   /* source file, if the granularity has files */
	int64_t line;       /* line, if the granularity has lines */
	uint64_t address;   /* address, if the granularity has addresses */
	mw_string_t module; /* path of the module, if neither name nor file is known */
	uint32_t parent;    /* parent node in a call tree; otherwise 0 */
	char *text;         /* text of the node, also for sorting */
	/* The divisor is that of a mean, until the division; otherwise 0. */
	int64_t flat, flat_divisor;
	int64_t cum, cum_divisor;
	double flat_variance; /* sampling variance of `flat`; 0 = exact, or not known */
	size_t last_sample;   /* 1 + number of the last sample that was counted */
	uint32_t last_in;     /* incoming edge that was found last */
	bool is_kept;
	size_t *in, *out; /* edges, heaviest first; filled in by mw_graph_link() */
	size_t in_count, out_count;
	uint32_t tags; /* first label sum of its stacks; private to graph_tags.c */
} mw_node_t;

typedef struct mw_edge {
	uint32_t caller, callee;
	int64_t weight, divisor;
	size_t last_sample;
	bool is_inline;
	bool is_residual;
	bool is_dropped;
} mw_edge_t;

typedef struct mw_graph_options {
	size_t type;
	mw_granularity_t granularity;
	bool sort_by_cum;
	bool call_tree;     /* one node for each path to a function */
	bool drop_negative; /* drops nodes with negative values */
	bool is_mean;       /* values are divided by the values of sample type 0 */
	bool is_picture;    /* chooses the most informative nodes instead of the largest */
	bool is_drawn;      /* a picture for people at once, not a file for graphviz */
	size_t node_count;  /* most nodes; 0 = all */
	double node_fraction;
	double edge_fraction;
	size_t max_degree;     /* most edges into and out of a node; 0 = all */
	const char *size_unit; /* unit of sizes in boxes (mw_tag_text()) */
	/* variances[i]: sampling variance of the value of sample i; NULL = not known. */
	const double *variances;
} mw_graph_options_t;

/* Boxes of one kind.  Kinds: texts, sizes of each text, sizes without a text. */
enum { MW_BOXES_OF_A_KIND = 4, MW_BOXES_MAX = MW_BOXES_OF_A_KIND * (MW_BOXES_OF_A_KIND + 2) };

/* A label shared by some of a node's stacks. */
typedef struct mw_box {
	const char *text; /* "key:value", one label on each line; or a size; or a range of sizes */
	int64_t value;
	size_t on;      /* 1 + index of the box that this box divides; 0 = the node itself */
	bool is_bridge; /* a part of the value comes from callees that are not shown */
	char range[2 * MW_TAG_BYTES + 2]; /* memory of `text` if that is a range */
} mw_box_t;

typedef struct mw_graph mw_graph_t;

mw_graph_t *mw_graph_new(const mw_profile_t *profile, const mw_graph_options_t *options);
void mw_graph_free(mw_graph_t *graph);

/* Number of nodes that are shown. */
size_t mw_graph_count(const mw_graph_t *graph);
const mw_node_t *mw_graph_node(const mw_graph_t *graph, size_t i);
/* Returns a node by its number. */
const mw_node_t *mw_graph_node_at(const mw_graph_t *graph, uint32_t node);
const mw_edge_t *mw_graph_edge_at(const mw_graph_t *graph, size_t edge);
size_t mw_graph_node_end(const mw_graph_t *graph); /* 1 + number of the last node */
size_t mw_graph_edge_end(const mw_graph_t *graph); /* 1 + number of the last edge */

/* Number of nodes before the limit on their number, and of nodes that were too small. */
size_t mw_graph_original_count(const mw_graph_t *graph);
size_t mw_graph_dropped_nodes(const mw_graph_t *graph);
/* Number of edges that were too small. */
size_t mw_graph_dropped_edges(const mw_graph_t *graph);

/* Returns the edges that are shown, heaviest first.  The caller frees the array. */
size_t *mw_graph_edges(const mw_graph_t *graph, size_t *count);

/* Fills in the boxes that pprof draws beside a node of a picture.  A leaf has the labels of its
 * cumulative value, another node the labels of its flat value.  Returns the number of boxes.
 * They are valid as long as the graph, and must not be moved. */
size_t mw_graph_boxes(const mw_graph_t *graph, const mw_node_t *node, mw_box_t boxes[MW_BOXES_MAX]);

/* Returns the text of a line at a granularity; `line` NULL is a location without lines.  The
 * caller frees it. */
char *mw_frame_text(const mw_profile_t *profile, uint32_t location, const mw_line_t *line,
		    mw_granularity_t granularity);

#endif
