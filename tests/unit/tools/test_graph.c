/* SPDX-License-Identifier: MIT
 * test_graph.c -- nodes and edges of small profiles: recursion, what is left out and what then
 * joins its neighbours, call trees, means, what shrank. */
#include <stdio.h>

#include "made_profile.h"
#include "view/graph.h"

static mw_profile_t *make_profile(const char *const *stacks, const int64_t (*values)[2],
				  size_t count) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_type(p, "objects", "count");
	mw_profile_add_type(p, "space", "bytes");
	for (size_t i = 0; i < count; i++)
		made_stack(p, stacks[i], values[i], NULL);
	return p;
}

static const mw_node_t *find(const mw_graph_t *g, const char *text) {
	for (size_t i = 0; i < mw_graph_count(g); i++)
		if (strcmp(mw_graph_node(g, i)->text, text) == 0)
			return mw_graph_node(g, i);
	return NULL;
}

static const mw_edge_t *edge(const mw_graph_t *g, const char *caller, const char *callee) {
	const mw_node_t *from = find(g, caller), *to = find(g, callee);
	for (size_t i = 0; from != NULL && i < from->out_count; i++)
		if (mw_graph_node_at(g, mw_graph_edge_at(g, from->out[i])->callee) == to)
			return mw_graph_edge_at(g, from->out[i]);
	return NULL;
}

static void check_node(const mw_graph_t *g, const char *text, int64_t flat, int64_t cum) {
	const mw_node_t *n = find(g, text);
	CHECK(n != NULL);
	CHECK_EQ(n->flat, flat);
	CHECK_EQ(n->cum, cum);
}

static void recursion_counts_once(void) {
	static const char *const stacks[] = {"main;f;f;f;g", "main;f;g;f"};
	static const int64_t values[][2] = {{1, 10}, {1, 100}};
	mw_profile_t *p = make_profile(stacks, values, 2);
	mw_graph_t *g = mw_graph_new(p, &(mw_graph_options_t){.type = 1});
	check_node(g, "main", 0, 110);
	check_node(g, "f", 100, 110);
	check_node(g, "g", 10, 110);
	CHECK(edge(g, "f", "f") == NULL); /* as pprof: to itself nothing goes */
	CHECK_EQ(edge(g, "f", "g")->weight, 110);
	CHECK_EQ(edge(g, "g", "f")->weight, 100);
	CHECK_EQ(mw_graph_count(g), 3);
	mw_graph_free(g);
	mw_profile_free(p);
}

static void what_is_small_is_bridged(void) {
	static const char *const stacks[] = {"main;thin;large", "main;wide", "main;wide;large"};
	static const int64_t values[][2] = {{1, 10}, {1, 900}, {1, 90}};
	mw_profile_t *p = make_profile(stacks, values, 3);
	mw_graph_t *g = mw_graph_new(p, &(mw_graph_options_t){.type = 1, .node_fraction = 0.05});
	CHECK(find(g, "thin") == NULL);
	CHECK_EQ(mw_graph_dropped_nodes(g), 1);
	const mw_edge_t *over = edge(g, "main", "large");
	CHECK(over != NULL && over->is_residual);
	CHECK_EQ(over->weight, 10);
	CHECK(edge(g, "main", "wide") != NULL && !edge(g, "main", "wide")->is_residual);
	check_node(g, "large", 100, 100);
	mw_graph_free(g);
	g = mw_graph_new(p, &(mw_graph_options_t){.type = 1, .node_count = 2});
	CHECK_EQ(mw_graph_count(g), 2);
	CHECK_STR(mw_graph_node(g, 0)->text, "wide");
	CHECK_STR(mw_graph_node(g, 1)->text, "large");
	CHECK_EQ(mw_graph_original_count(g), 4);
	mw_graph_free(g);
	mw_profile_free(p);
}

static void call_trees_have_a_node_a_way(void) {
	static const char *const stacks[] = {"main;f;g", "main;h;g"};
	static const int64_t values[][2] = {{1, 10}, {1, 20}};
	mw_profile_t *p = make_profile(stacks, values, 2);
	mw_graph_t *g = mw_graph_new(p, &(mw_graph_options_t){.type = 1, .call_tree = true});
	CHECK_EQ(mw_graph_count(g), 5);
	size_t leaves = 0;
	for (size_t i = 0; i < mw_graph_count(g); i++)
		leaves += strcmp(mw_graph_node(g, i)->text, "g") == 0;
	CHECK_EQ(leaves, 2);
	mw_graph_free(g);
	mw_profile_free(p);
}

static void means_and_losses(void) {
	static const char *const stacks[] = {"main;f", "main;g"};
	static const int64_t values[][2] = {{5, 100}, {2, -8}};
	mw_profile_t *p = make_profile(stacks, values, 2);
	mw_graph_t *g = mw_graph_new(p, &(mw_graph_options_t){.type = 1, .is_mean = true});
	check_node(g, "f", 20, 20);
	mw_graph_free(g);
	g = mw_graph_new(p, &(mw_graph_options_t){.type = 1});
	check_node(g, "g", -8, -8);
	check_node(g, "main", 0, 92);
	mw_graph_free(g);
	g = mw_graph_new(p, &(mw_graph_options_t){.type = 1, .drop_negative = true});
	CHECK(find(g, "g") == NULL && find(g, "f") != NULL);
	mw_graph_free(g);
	mw_profile_free(p);
}

static void inlined_calls_are_told(void) {
	static const char *const stacks[] = {"main;f+h", "main;g;h"};
	static const int64_t values[][2] = {{1, 10}, {1, 20}};
	mw_profile_t *p = make_profile(stacks, values, 2);
	mw_graph_t *g = mw_graph_new(p, &(mw_graph_options_t){.type = 1});
	CHECK(edge(g, "f", "h")->is_inline && !edge(g, "g", "h")->is_inline);
	check_node(g, "h", 30, 30);
	mw_graph_free(g);
	mw_profile_free(p);
}

/* A stack of 10,000 frames, each its own function, and one of one function. */
static void deep_stacks(void) {
	enum { DEPTH = 10000 };
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_type(p, "space", "bytes");
	static uint32_t frames[DEPTH];
	for (int same = 0; same < 2; same++) {
		for (int i = 0; i < DEPTH; i++) {
			char name[32];
			snprintf(name, sizeof(name), "f%d", same ? 0 : i);
			frames[i] = made_location(p, name);
		}
		mw_profile_add_sample(p, frames, DEPTH, (const int64_t[]){7}, NULL, 0);
	}
	for (int tree = 0; tree < 2; tree++) {
		mw_graph_t *g = mw_graph_new(p, &(mw_graph_options_t){.call_tree = tree});
		CHECK_EQ(mw_graph_count(g), tree ? 2 * DEPTH : DEPTH);
		if (!tree)
			check_node(g, "f0", 14, 14);
		mw_graph_free(g);
	}
	mw_profile_free(p);
}

int main(void) {
	RUN(recursion_counts_once);
	RUN(what_is_small_is_bridged);
	RUN(call_trees_have_a_node_a_way);
	RUN(means_and_losses);
	RUN(inlined_calls_are_told);
	RUN(deep_stacks);
	return 0;
}
