/* SPDX-License-Identifier: MIT
 * calltree.h -- all stacks as one tree, with the values of several sample types.
 * Layer: tools/view.  Private to this folder. */
#ifndef MW_TOOL_VIEW_CALLTREE_H
#define MW_TOOL_VIEW_CALLTREE_H

#include <stddef.h>
#include <stdint.h>

#include "view/view.h"

typedef struct mw_call {
	uint32_t name;   /* in names */
	uint32_t parent; /* index of a node before this one; the root's is 0 */
} mw_call_t;

typedef struct mw_call_tree {
	char **names; /* [0] is the root's */
	size_t name_count;
	mw_call_t *nodes;
	size_t node_count;
	int64_t *values; /* node_count x type_count, cumulative */
	size_t *types;   /* sample types that have any value, view->type first */
	size_t type_count;
} mw_call_tree_t;

void mw_call_tree_init(mw_call_tree_t *tree, const mw_view_t *view);
/* The tree's first sample type as a flame graph in SVG, outermost functions on top. */
void mw_call_tree_svg(const mw_call_tree_t *tree, const mw_view_t *view);
void mw_call_tree_release(mw_call_tree_t *tree);

#endif
