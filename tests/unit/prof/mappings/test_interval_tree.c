/* SPDX-License-Identifier: MIT
 * test_interval_tree.c -- ranges are added and cut at random, and compared with an array that holds
 * the owner of each address. */
#include "prof/mappings/interval_tree.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { SPACE = 400, STEPS = 200000, NODES = 500 };

static mw_interval_tree_t tree;
/* owner[a]: number of the range that holds address a; 0: none. */
static uint64_t owner[SPACE];
static uint32_t kind_of[STEPS + 1];
/* What the last cut reported. */
static uint64_t removed_bytes;
static int changed;

static void on_removed(const mw_interval_t *part, int change) {
	CHECK(part->start < part->limit && part->limit <= SPACE);
	for (uint64_t a = part->start; a < part->limit; a++) {
		CHECK_EQ(owner[a], part->number);
		owner[a] = 0;
	}
	removed_bytes += part->limit - part->start;
	changed += change;
}

static void compare(void) {
	uint64_t at = 0;
	unsigned count = 0;
	for (const mw_interval_t *i; (i = mw_intervals_next(&tree, at)); at = i->limit) {
		CHECK(i->start >= at && i->start < i->limit);
		for (; at < i->start; at++)
			CHECK_EQ(owner[at], 0);
		for (; at < i->limit; at++)
			CHECK_EQ(owner[at], i->number);
		count++;
	}
	for (; at < SPACE; at++)
		CHECK_EQ(owner[at], 0);
	CHECK_EQ(count, tree.count);
}

static void cut(uint64_t start, uint64_t limit, uint64_t before, uint32_t kinds) {
	uint64_t expected = 0;
	uint32_t count = tree.count;
	for (uint64_t a = start; a < limit; a++)
		expected += owner[a] && owner[a] < before && (kinds >> kind_of[owner[a]] & 1);
	removed_bytes = 0;
	changed = 0;
	mw_intervals_cut(&tree, &(mw_interval_cut_t){start, limit, before, kinds, on_removed});
	CHECK_EQ(removed_bytes, expected);
	CHECK_EQ((uint32_t)((int)count + changed), tree.count);
}

static void ranges_are_as_in_the_model(void) {
	tree = (mw_interval_tree_t){.nodes = calloc(NODES, sizeof *tree.nodes), .capacity = NODES};
	srand(17);
	for (uint64_t number = 1; number <= STEPS; number++) {
		uint64_t start = (uint64_t)rand() % SPACE;
		uint64_t limit = start + 1 + (uint64_t)rand() % (SPACE - start);
		if (rand() % 4 != 0 && limit > start + 20)
			limit = start + 20;
		kind_of[number] = (uint32_t)rand() % 3;
		if (rand() % 3 == 0) {
			uint64_t before = rand() % 4 ? number : number - (uint64_t)rand() % number;
			cut(start, limit, before, rand() % 4 ? 7 : 1u << rand() % 3);
		} else {
			cut(start, limit, number, 7);
			mw_interval_t interval = {.start = start,
						  .limit = limit,
						  .number = number,
						  .kind = kind_of[number]};
			CHECK(mw_intervals_add(&tree, &interval));
			for (uint64_t a = start; a < limit; a++)
				owner[a] = number;
		}
		if (number % 16 == 0)
			compare();
	}
	cut(0, SPACE, UINT64_MAX, 7);
	CHECK_EQ(tree.count, 0);
	CHECK_EQ(tree.root, 0);
	free(tree.nodes);
	memset(owner, 0, sizeof owner);
}

static unsigned height_of(uint32_t node) {
	if (node == 0)
		return 0;
	unsigned left = height_of(tree.nodes[node].left), right = height_of(tree.nodes[node].right);
	return 1 + (left > right ? left : right);
}

/* The kernel hands addresses out downwards: the worst order for a tree without balance. */
static void the_tree_is_flat(void) {
	enum { MANY = 100000 };
	tree = (mw_interval_tree_t){.nodes = calloc(MANY + 1, sizeof *tree.nodes),
				    .capacity = MANY + 1};
	for (uint64_t i = MANY; i > 0; i--)
		CHECK(mw_intervals_add(&tree,
				       &(mw_interval_t){.start = i * 10, .limit = i * 10 + 5}));
	CHECK(!mw_intervals_add(&tree, &(mw_interval_t){.start = 1, .limit = 2}));
	/* Twice the logarithm to the base 2 is 33; the expected height of a random tree is
	 * below 50. */
	CHECK(height_of(tree.root) < 60);
	free(tree.nodes);
}

static uint64_t lost_from, lost_to;

static void on_lost(const mw_interval_t *part, int change) {
	CHECK_EQ(change, 0);
	lost_from = part->start;
	lost_to = part->limit;
}

static void a_full_tree_loses_the_upper_rest(void) {
	tree = (mw_interval_tree_t){.nodes = calloc(2, sizeof *tree.nodes), .capacity = 2};
	CHECK(mw_intervals_add(&tree, &(mw_interval_t){.start = 10, .limit = 20, .number = 1}));
	mw_intervals_cut(&tree, &(mw_interval_cut_t){13, 15, 2, 1, on_lost});
	CHECK(lost_from == 13 && lost_to == 20);
	const mw_interval_t *left = mw_intervals_next(&tree, 0);
	CHECK(left && left->start == 10 && left->limit == 13 && !mw_intervals_next(&tree, 13));
	free(tree.nodes);
}

int main(void) {
	ranges_are_as_in_the_model();
	the_tree_is_flat();
	a_full_tree_loses_the_upper_rest();
	return 0;
}
