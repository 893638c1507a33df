/* SPDX-License-Identifier: MIT
 * graph.h -- who calls whom, and what each holds: nodes with flat and cumulative values, edges with
 * what went over them.
 * Layer: tools/view.  The rules are pprof's, so that the numbers and their order are: a stack
 * counts once in a node and an edge however often it comes through; nodes below a share of the
 * total, and beyond a number, are left out, and edges over them join their neighbours ("residual").
 * Numbers of nodes and edges begin at 1. */
#ifndef MW_TOOL_VIEW_GRAPH_H
#define MW_TOOL_VIEW_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"
#include "view/selection.h"
#include "view/tags.h"

typedef struct mw_node {
	mw_string_t name;           /* function */
	mw_string_t file;           /* where the granularity asks for it */
	int64_t line;               /* likewise */
	uint64_t address;           /* likewise */
	mw_string_t module;         /* path, where there is neither name nor file */
	uint32_t parent;            /* node, in call trees; else 0 */
	char *text;                 /* how it is called; for people and for sorting */
	int64_t flat, flat_divisor; /* divisors: of means, until they were divided by; else 0 */
	int64_t cum, cum_divisor;
	size_t last_sample; /* + 1, that was counted */
	uint32_t last_in;   /* edge that was found last */
	bool is_kept;
	size_t *in, *out; /* edges, heaviest first; filled in by mw_graph_link() */
	size_t in_count, out_count;
	uint32_t tags; /* first of what its stacks are labelled with; private */
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
	bool call_tree;     /* a node for each way to a function */
	bool drop_negative; /* nodes below 0: they shrank */
	bool is_mean;       /* values are divided by those of sample type 0 */
	bool is_picture;    /* the nodes that tell most first, instead of the largest */
	size_t node_count;  /* 0: all */
	double node_fraction;
	double edge_fraction;
	size_t max_degree;     /* edges into and out of a node; 0: all */
	const char *size_unit; /* of boxes; as mw_tag_text() has it */
} mw_graph_options_t;

/* Of each kind: texts, sizes of each text, sizes where there is no text. */
enum { MW_BOXES_OF_A_KIND = 4, MW_BOXES_MAX = MW_BOXES_OF_A_KIND * (MW_BOXES_OF_A_KIND + 2) };

/* What some of a node's stacks are labelled with. */
typedef struct mw_box {
	const char *text; /* a label a line, "key:value"; a size, or a range of them */
	int64_t value;
	size_t on;      /* box whose stacks it is a part of, + 1; 0: the node itself */
	bool is_bridge; /* some of the value comes from callees that are left out */
	char range[2 * MW_TAG_BYTES + 2]; /* where `text` may be */
} mw_box_t;

typedef struct mw_graph mw_graph_t;

mw_graph_t *mw_graph_new(const mw_profile_t *profile, const mw_graph_options_t *options);
void mw_graph_free(mw_graph_t *graph);

/* What is shown, in order. */
size_t mw_graph_count(const mw_graph_t *graph);
const mw_node_t *mw_graph_node(const mw_graph_t *graph, size_t i);
/* By number. */
const mw_node_t *mw_graph_node_at(const mw_graph_t *graph, uint32_t node);
const mw_edge_t *mw_graph_edge_at(const mw_graph_t *graph, size_t edge);
size_t mw_graph_node_end(const mw_graph_t *graph); /* the last node's number + 1 */
size_t mw_graph_edge_end(const mw_graph_t *graph); /* likewise, of edges */

/* Nodes before the limit on their number, and those too small to be in it. */
size_t mw_graph_original_count(const mw_graph_t *graph);
size_t mw_graph_dropped_nodes(const mw_graph_t *graph);
/* Edges that were too small. */
size_t mw_graph_dropped_edges(const mw_graph_t *graph);

/* Those that are shown, heaviest first.  The caller frees them. */
size_t *mw_graph_edges(const mw_graph_t *graph, size_t *count);

/* Fills in what pprof draws beside a node of a picture: of leaves the labels of all that it holds,
 * of others of what it holds itself.  Returns how many; they are valid as long as the graph, and
 * not to be moved. */
size_t mw_graph_boxes(const mw_graph_t *graph, const mw_node_t *node, mw_box_t boxes[MW_BOXES_MAX]);

/* What a line (or, with `line` NULL, a location without any) is called at a granularity.  The
 * caller frees it. */
char *mw_frame_text(const mw_profile_t *profile, uint32_t location, const mw_line_t *line,
		    mw_granularity_t granularity);

#endif
