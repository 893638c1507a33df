/* SPDX-License-Identifier: MIT
 * interval_tree.h -- address ranges that do not overlap, found by address.
 * Layer: prof/mappings. A treap: a search tree by address, and a heap by random priorities, so that
 * each call takes steps in the order of the logarithm of the number of ranges. No locks; one thread
 * at a time. Never allocates: the caller gives the memory. Async-signal-safe. */
#ifndef MW_PROF_MAPPINGS_INTERVAL_TREE_H
#define MW_PROF_MAPPINGS_INTERVAL_TREE_H

#include <stdbool.h>
#include <stdint.h>

/* A range that one call mapped, or a part that is left of it. */
typedef struct mw_interval {
	uint64_t start, limit;
	uint64_t whole_limit; /* end of the range that the call mapped */
	uint64_t number;      /* number of the call; later calls have larger ones */
	uint32_t stack;       /* the call's stack in the depot; 0: it is not counted */
	uint32_t generation;  /* of the counters (state/layout.h) */
	uint32_t kind;        /* mw_mapping_kind_t */
} mw_interval_t;

typedef struct mw_interval_node {
	mw_interval_t interval;
	uint32_t left, right, priority;
} mw_interval_node_t;

/* All zeros but for `nodes` and `capacity`: an empty tree. Node 0 stands for none. */
typedef struct mw_interval_tree {
	mw_interval_node_t *nodes;
	uint32_t capacity;
	uint32_t used; /* nodes that were used at least once, less 1 */
	uint32_t free; /* first node of the list of free ones, which `left` links */
	uint32_t root;
	uint32_t count; /* intervals in the tree */
	uint32_t random;
} mw_interval_tree_t;

/* Adds an interval that overlaps none. Returns false if there is no room. */
bool mw_intervals_add(mw_interval_tree_t *tree, const mw_interval_t *interval);
/* Returns the lowest interval that ends behind the address; NULL: there is none. It is valid until
 * the next change. */
const mw_interval_t *mw_intervals_next(const mw_interval_tree_t *tree, uint64_t address);

/* Which intervals are cut, and who is told. */
typedef struct mw_interval_cut {
	uint64_t start, limit;
	uint64_t before; /* only intervals with a smaller number */
	uint32_t kinds;  /* bit k: intervals of kind k */
	/* Called for each part that is removed. `change`: by how much the number of intervals has
	 * changed: -1, 0, or 1 if the part was in the middle. */
	void (*removed)(const mw_interval_t *part, int change);
} mw_interval_cut_t;

/* Removes all that lies in [start, limit). If the rest of an interval would be two and there is no
 * room, the upper rest is removed as well. */
void mw_intervals_cut(mw_interval_tree_t *tree, const mw_interval_cut_t *cut);

#endif
