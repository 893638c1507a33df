/* SPDX-License-Identifier: MIT
 * calltree.h -- all stacks as one tree, with the values of several sample types.
 * Layer: view/picture.  Private to this folder. */
#ifndef MW_TOOL_VIEW_PICTURE_CALLTREE_H
#define MW_TOOL_VIEW_PICTURE_CALLTREE_H

#include <stddef.h>
#include <stdint.h>

#include "view/common/view.h"

typedef struct mw_call {
	uint32_t name;   /* index in names */
	uint32_t parent; /* index of an earlier node; 0 for the root */
} mw_call_t;

/* First entries of modules.  NONE: functions of no known file.  SYSTEM: libc, the dynamic linker
 * and the libraries of languages, which pictures show in grey. */
enum { MW_MODULE_NONE, MW_MODULE_SYSTEM, MW_MODULE_FIRST };

typedef struct mw_call_tree {
	char **names; /* names[0] is the root's */
	size_t name_count;
	uint32_t *name_mappings; /* mapping of the first frame with this name; 0 = none */
	uint32_t *name_modules;  /* name_modules[i]: module of name i */
	/* The entries of MW_MODULE_*, then the files of functions, ordered by value. */
	char **modules;
	size_t module_count;
	mw_call_t *nodes;
	size_t node_count;
	/* node_count x column_count cumulative values: the sample types, and perhaps the ages. */
	int64_t *values;
	size_t *types; /* sample types with a value; view->type comes first */
	size_t type_count, column_count;
	bool has_ages; /* the last column: bytes in use, each times the number of its age's decade
			*/
	uint32_t *gathered; /* how many frames a node stands for that were left out; 0: itself */
} mw_call_tree_t;

void mw_call_tree_init(mw_call_tree_t *tree, const mw_view_t *view);
/* Keeps so many frames, the largest; below each of them a node without a name stands for those that
 * were left out.  0: keeps all. */
void mw_call_tree_limit(mw_call_tree_t *tree, size_t limit);
/* Fills in name_modules and modules of an otherwise complete tree. */
void mw_call_tree_find_modules(mw_call_tree_t *tree, const mw_profile_t *profile);
/* Writes the tree's first sample type as a flame graph in SVG, outermost functions on top. */
void mw_call_tree_svg(const mw_call_tree_t *tree, const mw_view_t *view);
void mw_call_tree_release(mw_call_tree_t *tree);

#endif
