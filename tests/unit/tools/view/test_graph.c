/* SPDX-License-Identifier: MIT
 * test_graph.c -- nodes and edges of small profiles: recursion, what is left out and what then
 * joins its neighbours, call trees, means, what shrank, labels. */
#include <stdio.h>
#include <stdlib.h>

#include "made_profile.h"
#include "view/graph/graph.h"
#include "view/graph/graph_chains.h"

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

static void edges_bridge_dropped_nodes(void) {
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

static void call_tree_has_a_node_for_each_path(void) {
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

static mw_label_t text_label(mw_profile_t *p, const char *key, const char *text) {
	return (mw_label_t){.key = mw_profile_intern(p, key), .text = mw_profile_intern(p, text)};
}

static mw_label_t size_label(mw_profile_t *p, int64_t size) {
	return (mw_label_t){.key = mw_profile_intern(p, MW_LABEL_SIZE),
			    .number = size,
			    .unit = mw_profile_intern(p, "bytes")};
}

/* "text=value on n", dotted with '~', in the boxes' order. */
static void check_boxes(const mw_graph_t *g, const char *node, const char *expected) {
	mw_box_t boxes[MW_BOXES_MAX];
	char all[2000] = "";
	size_t count = mw_graph_boxes(g, find(g, node), boxes), used = 0;
	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s%s=%d on %zu",
					 i > 0 ? ", " : "", boxes[i].is_bridge ? "~" : "",
					 boxes[i].text, (int)boxes[i].value, boxes[i].on);
	if (strcmp(all, expected) != 0)
		fprintf(stderr, "%s has %s\n", node, all);
	CHECK(strcmp(all, expected) == 0);
}

static const mw_graph_options_t picture = {.type = 0, .is_picture = true, .size_unit = "minimum"};

static mw_profile_t *make_labelled(void) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_type(p, "space", "bytes");
	const mw_label_t get = text_label(p, "request", "get"),
			 put = text_label(p, "request", "put");
	const mw_label_t who = text_label(p, "by", "me"),
			 base = text_label(p, "pprof::base", "true");
	const mw_label_t age = {.key = mw_profile_intern(p, "age"), .number = 5};
	made_labelled(p, "main;f;leaf", (const int64_t[]){1000},
		      (const mw_label_t[]){get, size_label(p, 64), who}, 3);
	made_labelled(p, "main;f;leaf", (const int64_t[]){500},
		      (const mw_label_t[]){who, get, age, size_label(p, 2048)}, 4);
	made_labelled(p, "main;f", (const int64_t[]){200}, (const mw_label_t[]){put, base}, 2);
	made_labelled(p, "main;f", (const int64_t[]){30}, (const mw_label_t[]){size_label(p, 16)},
		      1);
	return p;
}

static void labels_become_boxes(void) {
	mw_profile_t *p = make_labelled();
	mw_graph_t *g = mw_graph_new(p, &picture);
	/* In order of the keys, other numbers than sizes and marks of pprof left out. */
	check_boxes(g, "leaf", "by:me\nrequest:get=1500 on 0, 64B=1000 on 1, 2kB=500 on 1");
	/* Of what it holds itself. */
	check_boxes(g, "f", "request:put=200 on 0, 16B=30 on 0");
	check_boxes(g, "main", "");
	mw_graph_free(g);
	mw_graph_options_t options = picture;
	options.is_picture = false;
	g = mw_graph_new(p, &options);
	check_boxes(g, "leaf", "");
	mw_graph_free(g);
	mw_profile_free(p);
}

static void boxes_of_cut_off_leaves(void) {
	mw_profile_t *p = make_labelled();
	mw_graph_options_t options = picture;
	/* What is below the share that nodes need is not drawn. */
	options.node_fraction = 0.2;
	mw_graph_t *g = mw_graph_new(p, &options);
	check_boxes(g, "leaf", "by:me\nrequest:get=1500 on 0, 64B=1000 on 1, 2kB=500 on 1");
	check_boxes(g, "f", "");
	mw_graph_free(g);
	/* What nothing is below has the labels of what was. */
	const mw_label_t labels[] = {text_label(p, "request", "get"), size_label(p, 64)};
	for (int i = 0; i < 8; i++) {
		char stack[32];
		snprintf(stack, sizeof(stack), "main;new;little%d", i);
		made_labelled(p, stack, (const int64_t[]){i < 7 ? 90 : 91}, labels, 2);
	}
	made_labelled(p, "main;new", (const int64_t[]){400}, labels, 2);
	options.node_fraction = 0.1;
	g = mw_graph_new(p, &options);
	CHECK(find(g, "new") != NULL && find(g, "little7") == NULL);
	check_boxes(g, "new", "request:get=1121 on 0, ~64B=1121 on 1");
	mw_graph_free(g);
	mw_profile_free(p);
}

static void boxes_count_as_nodes(void) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_type(p, "space", "bytes");
	for (int i = 0; i < 40; i++) {
		char stack[32], text[32];
		snprintf(stack, sizeof(stack), "main;f%d", i / 4);
		snprintf(text, sizeof(text), "t%d", i % 4);
		const mw_label_t label = text_label(p, "tenant", text);
		made_stack(p, stack, (const int64_t[]){100 + i}, i < 36 ? &label : NULL);
	}
	mw_graph_options_t options = picture;
	options.node_count = 10;
	mw_graph_t *g = mw_graph_new(p, &options);
	/* main has none; f9 neither; f8 and f7 have four each. */
	CHECK_EQ(mw_graph_count(g), 4);
	CHECK(find(g, "main") != NULL && find(g, "f9") != NULL && find(g, "f7") != NULL);
	mw_graph_free(g);
	mw_profile_free(p);
}

static void near_sizes_share_a_box(void) {
	static const int64_t sizes[][2] = {
		{64, 900}, {4096, 800}, {1 << 20, 700}, {300, 600}, {80, 50},
		{48, 40},  {5000, 30},  {2 << 20, 20},  {64, 7},    {700 << 10, -10}};
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_type(p, "space", "bytes");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const mw_label_t label = size_label(p, sizes[i][0]);
		made_stack(p, "main", &sizes[i][1], &label);
	}
	mw_graph_t *g = mw_graph_new(p, &picture);
	check_boxes(g, "main",
		    "48B..80B=997 on 0, 4kB..4.88kB=830 on 0, 700kB..2MB=710 on 0, 300B=600 on 0");
	mw_graph_free(g);
	/* For people, and in units in which not all of it can be told. */
	mw_graph_options_t options = picture;
	options.size_unit = NULL;
	g = mw_graph_new(p, &options);
	check_boxes(g, "main",
		    "48 B..80 B=997 on 0, 4.00 KiB..4.88 KiB=830 on 0, "
		    "700 KiB..2.00 MiB=710 on 0, 300 B=600 on 0");
	mw_graph_free(g);
	mw_profile_free(p);
}

/* A size's unit stands in the label; without one it is bytes. */
static void sizes_have_units(void) {
	static const struct {
		const char *unit, *expected;
	} cases[] = {{"kilobytes", "2kB=1 on 0"}, {"bytes", "2B=1 on 0"}, {"", "2B=1 on 0"}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		mw_profile_t *p = mw_profile_new();
		mw_profile_add_type(p, "space", "bytes");
		mw_label_t label = size_label(p, 2);
		label.unit = mw_profile_intern(p, cases[i].unit);
		made_stack(p, "main", (const int64_t[]){1}, &label);
		mw_graph_t *g = mw_graph_new(p, &picture);
		check_boxes(g, "main", cases[i].expected);
		mw_graph_free(g);
		mw_profile_free(p);
	}
}

/* Shares of the whole decide, whichever sign: no logarithm of what shrank is taken. */
static void losses_are_drawn_by_magnitude(void) {
	static const char *const stacks[] = {"main;grown", "main;shrunk;a", "main;shrunk;b",
					     "main;little;b"};
	static const int64_t values[][2] = {{1, 500}, {1, -400}, {1, -450}, {1, 3}};
	mw_profile_t *p = make_profile(stacks, values, 4);
	mw_graph_options_t options = picture;
	options.type = 1;
	options.node_count = 5;
	mw_graph_t *g = mw_graph_new(p, &options);
	CHECK_EQ(mw_graph_count(g), 5);
	CHECK(find(g, "shrunk") != NULL && find(g, "little") == NULL);
	mw_graph_free(g);
	/* And what they lose to goes with them. */
	options.drop_negative = true;
	options.node_count = 0;
	g = mw_graph_new(p, &options);
	size_t count, *edges = mw_graph_edges(g, &count);
	CHECK(find(g, "shrunk") == NULL && find(g, "main") == NULL);
	CHECK_EQ(count, 0);
	free(edges);
	mw_graph_free(g);
	mw_profile_free(p);
}

static uint32_t number_of(const mw_graph_t *g, const char *text) {
	return (uint32_t)(find(g, text) - mw_graph_node_at(g, 0));
}

/* A picture folds functions with a single caller each, not those that hold something themselves,
 * nor those with several callers; recursion is no chain. */
static void single_callers_are_chains(void) {
	static const char *const stacks[] = {"start;main;run;read;make",
					     "start;main;run;write;make",
					     "start;main;run;write;log;put", "a;b;a;b"};
	static const int64_t values[][2] = {{1, 10}, {1, 20}, {1, 30}, {1, 40}};
	mw_profile_t *p = make_profile(stacks, values, 4);
	mw_graph_t *g = mw_graph_new(p, &(mw_graph_options_t){.type = 1});
	mw_chains_t c = mw_chains_find(g, true);
	CHECK_EQ(c.next[number_of(g, "start")], number_of(g, "main"));
	CHECK_EQ(c.next[number_of(g, "main")], number_of(g, "run"));
	CHECK_EQ(c.next[number_of(g, "run")], 0);
	CHECK_EQ(c.previous[number_of(g, "run")], number_of(g, "main"));
	CHECK_EQ(c.next[number_of(g, "log")], number_of(g, "put"));
	CHECK_EQ(c.next[number_of(g, "read")], 0);
	CHECK_EQ(c.next[number_of(g, "write")], 0);
	CHECK(c.next[number_of(g, "a")] == 0 || c.next[number_of(g, "b")] == 0);
	mw_chains_free(&c);
	c = mw_chains_find(g, false);
	for (size_t i = 0; i < mw_graph_node_end(g); i++)
		CHECK(c.next[i] == 0 && c.previous[i] == 0);
	mw_chains_free(&c);
	mw_graph_free(g);
	mw_profile_free(p);
}

int main(void) {
	RUN(single_callers_are_chains);
	RUN(recursion_counts_once);
	RUN(edges_bridge_dropped_nodes);
	RUN(call_tree_has_a_node_for_each_path);
	RUN(means_and_losses);
	RUN(inlined_calls_are_told);
	RUN(deep_stacks);
	RUN(labels_become_boxes);
	RUN(boxes_of_cut_off_leaves);
	RUN(boxes_count_as_nodes);
	RUN(near_sizes_share_a_box);
	RUN(sizes_have_units);
	RUN(losses_are_drawn_by_magnitude);
	return 0;
}
