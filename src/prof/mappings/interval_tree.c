/* SPDX-License-Identifier: MIT
 * interval_tree.c -- a treap of address ranges; nodes have numbers, all loops go down the tree. */
#include "prof/mappings/interval_tree.h"

#include <stddef.h>

#define SEED 2463534242u /* any number but 0 */

/* xorshift (Marsaglia 2003) with 32 bits. */
static uint32_t next_random(mw_interval_tree_t *tree) {
	uint32_t x = tree->random ? tree->random : SEED;
	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	tree->random = x;
	return x;
}

/* Returns the number of an unused node; 0: there is none. */
static uint32_t take_node(mw_interval_tree_t *tree) {
	uint32_t number = tree->free;
	if (number) {
		tree->free = tree->nodes[number].left;
		return number;
	}
	return tree->used + 1 < tree->capacity ? ++tree->used : 0;
}

static void give_node(mw_interval_tree_t *tree, uint32_t number) {
	tree->nodes[number].left = tree->free;
	tree->free = number;
}

/* Divides a subtree into the intervals that start below the address and the others. */
static void split(mw_interval_tree_t *tree, uint32_t at, uint64_t address, uint32_t *below,
		  uint32_t *others) {
	while (at) {
		mw_interval_node_t *node = &tree->nodes[at];
		if (node->interval.start < address) {
			*below = at;
			below = &node->right;
			at = node->right;
		} else {
			*others = at;
			others = &node->left;
			at = node->left;
		}
	}
	*below = *others = 0;
}

/* Joins two subtrees; all of the first lies below the second. */
static uint32_t join(mw_interval_tree_t *tree, uint32_t below, uint32_t above) {
	uint32_t root = 0, *place = &root;
	while (below && above) {
		mw_interval_node_t *left = &tree->nodes[below], *right = &tree->nodes[above];
		if (left->priority > right->priority) {
			*place = below;
			place = &left->right;
			below = left->right;
		} else {
			*place = above;
			place = &right->left;
			above = right->left;
		}
	}
	*place = below ? below : above;
	return root;
}

bool mw_intervals_add(mw_interval_tree_t *tree, const mw_interval_t *interval) {
	uint32_t number = take_node(tree), below, above;
	if (number == 0)
		return false;
	tree->nodes[number] =
		(mw_interval_node_t){.interval = *interval, .priority = next_random(tree)};
	split(tree, tree->root, interval->start, &below, &above);
	tree->root = join(tree, join(tree, below, number), above);
	tree->count++;
	return true;
}

static void erase(mw_interval_tree_t *tree, uint64_t start) {
	uint32_t below, above, node, rest;
	split(tree, tree->root, start, &below, &above);
	split(tree, above, start + 1, &node, &rest);
	tree->root = join(tree, below, rest);
	give_node(tree, node);
	tree->count--;
}

static uint32_t find(const mw_interval_tree_t *tree, uint64_t address) {
	uint32_t found = 0;
	for (uint32_t at = tree->root; at;) {
		const mw_interval_node_t *node = &tree->nodes[at];
		if (node->interval.limit > address) {
			found = at;
			at = node->left;
		} else {
			at = node->right;
		}
	}
	return found;
}

const mw_interval_t *mw_intervals_next(const mw_interval_tree_t *tree, uint64_t address) {
	uint32_t number = find(tree, address);
	return number ? &tree->nodes[number].interval : NULL;
}

/* Removes [start, limit) of the interval at `number`, of which it is a part. */
static void cut_one(mw_interval_tree_t *tree, uint32_t number, uint64_t start, uint64_t limit,
		    const mw_interval_cut_t *cut) {
	mw_interval_t *interval = &tree->nodes[number].interval, part = *interval;
	int change = 0;
	part.start = start;
	part.limit = limit;
	if (interval->start < start && limit < interval->limit) {
		mw_interval_t upper = *interval;
		upper.start = limit;
		interval->limit = start;
		if (mw_intervals_add(tree, &upper))
			change = 1;
		else
			part.limit = upper.limit;
	} else if (interval->start < start) {
		interval->limit = start;
	} else if (limit < interval->limit) {
		interval->start = limit; /* the order of starts stays */
	} else {
		erase(tree, interval->start);
		change = -1;
	}
	cut->removed(&part, change);
}

void mw_intervals_cut(mw_interval_tree_t *tree, const mw_interval_cut_t *cut) {
	uint64_t from = cut->start;
	while (from < cut->limit) {
		uint32_t number = find(tree, from);
		const mw_interval_t *interval = &tree->nodes[number].interval;
		if (number == 0 || interval->start >= cut->limit)
			return;
		uint64_t start = interval->start > cut->start ? interval->start : cut->start;
		uint64_t limit = interval->limit < cut->limit ? interval->limit : cut->limit;
		from = limit;
		if (interval->number < cut->before && (cut->kinds >> interval->kind & 1))
			cut_one(tree, number, start, limit, cut);
	}
}
