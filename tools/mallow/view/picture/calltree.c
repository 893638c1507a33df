/* SPDX-License-Identifier: MIT
 * calltree.c -- merges stacks from their outermost frame. */
#include "view/picture/calltree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "model/table.h"

/* Most sample types that the page offers. */
#define TYPES_MAX 8

typedef struct builder {
	mw_call_tree_t *tree;
	const mw_view_t *view;
	mw_table_t name_table, node_table; /* entries are 1 + index */
	size_t name_capacity, mapping_capacity, node_capacity, value_capacity;
	uint32_t *name_of_line; /* name_of_line[i]: 1 + name of line i; 0 = not looked up yet */
	uint32_t *name_of_location;
	size_t live_type; /* inuse_space, if the tree has ages */
	int64_t age;      /* of the sample that is added */
} builder_t;

static bool name_equal(const void *context, uint32_t entry, const void *key) {
	return strcmp(((const mw_call_tree_t *)context)->names[entry - 1], key) == 0;
}

/* Returns the index of a name.  Owns `text` from now on. */
static uint32_t find_name(builder_t *b, char *text, uint32_t mapping) {
	mw_call_tree_t *t = b->tree;
	uint64_t hash = mw_table_hash(text, strlen(text));
	uint32_t found = mw_table_find(&b->name_table, hash, name_equal, t, text);
	if (found != 0) {
		free(text);
		return found - 1;
	}
	t->names = mw_grow(t->names, &b->name_capacity, t->name_count + 1, sizeof(char *));
	t->name_mappings = mw_grow(t->name_mappings, &b->mapping_capacity, t->name_count + 1,
				   sizeof(uint32_t));
	t->name_mappings[t->name_count] = mapping;
	t->names[t->name_count++] = text;
	mw_table_add(&b->name_table, hash, (uint32_t)t->name_count);
	return (uint32_t)t->name_count - 1;
}

static uint32_t name_of(builder_t *b, uint32_t location, const mw_line_t *line) {
	const mw_profile_t *p = b->view->profile;
	uint32_t *known =
		line != NULL ? &b->name_of_line[line - p->lines] : &b->name_of_location[location];
	if (*known == 0)
		*known = 1 + find_name(b,
				       mw_frame_text(p, location, line, b->view->graph.granularity),
				       p->locations[location].mapping);
	return *known - 1;
}

static bool node_equal(const void *context, uint32_t entry, const void *key) {
	const mw_call_t *have = &((const mw_call_tree_t *)context)->nodes[entry - 1];
	const mw_call_t *want = key;
	return have->name == want->name && have->parent == want->parent;
}

static uint32_t find_node(builder_t *b, uint32_t parent, uint32_t name) {
	mw_call_tree_t *t = b->tree;
	const mw_call_t key = {.name = name, .parent = parent};
	uint64_t hash = mw_table_hash(&key, sizeof(key));
	uint32_t found = mw_table_find(&b->node_table, hash, node_equal, t, &key);
	if (found != 0)
		return found - 1;
	t->nodes = mw_grow(t->nodes, &b->node_capacity, t->node_count + 1, sizeof(mw_call_t));
	t->values = mw_grow(t->values, &b->value_capacity, (t->node_count + 1) * t->column_count,
			    sizeof(int64_t));
	t->nodes[t->node_count++] = key;
	mw_table_add(&b->node_table, hash, (uint32_t)t->node_count);
	return (uint32_t)t->node_count - 1;
}

static void add_value(int64_t *sum, int64_t value) {
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value > 0 ? INT64_MAX : INT64_MIN;
}

/* Returns the bytes in use of a sample, each times the number of its age's decade. */
static int64_t age_of(const builder_t *b, size_t sample) {
	const mw_profile_t *p = b->view->profile;
	const mw_sample_t *s = &p->samples[sample];
	int64_t product;
	for (uint32_t i = 0; i < s->label_count; i++) {
		const mw_label_t *label = &p->labels[s->label_first + i];
		if (strcmp(mw_profile_string(p, label->key), MW_LABEL_AGE) != 0)
			continue;
		int decade = mw_decade_of(mw_profile_string(p, label->text));
		int64_t bytes = mw_profile_values(p, sample)[b->live_type];
		if (decade > 0 && !__builtin_mul_overflow(bytes, decade, &product))
			return product;
	}
	return 0;
}

static void add_values(builder_t *b, uint32_t node, size_t sample) {
	mw_call_tree_t *t = b->tree;
	const int64_t *values = mw_profile_values(b->view->profile, sample);
	int64_t *sums = &t->values[node * t->column_count];
	for (size_t i = 0; i < t->type_count; i++)
		add_value(&sums[i], values[t->types[i]]);
	if (t->has_ages)
		add_value(&sums[t->type_count], b->age);
}

static void add_sample(builder_t *b, size_t sample) {
	const mw_profile_t *p = b->view->profile;
	const mw_sample_t *s = &p->samples[sample];
	uint32_t node = 0;
	b->age = b->tree->has_ages ? age_of(b, sample) : 0;
	add_values(b, node, sample);
	for (uint32_t i = s->depth; i > 0; i--) {
		uint32_t location = p->frames[s->frame_first + i - 1];
		const mw_location_t *l = &p->locations[location];
		for (uint32_t k = mw_location_frames(l); k > 0; k--) {
			const mw_line_t *line = mw_location_line(p, l, k - 1);
			node = find_node(b, node, name_of(b, location, line));
			add_values(b, node, sample);
		}
	}
}

/* Chooses the types that the user may switch between: in use, time, allocated, at the peak. */
static void choose_types(mw_call_tree_t *t, const mw_view_t *v) {
	const mw_profile_t *p = v->profile;
	t->types = mw_xcalloc(TYPES_MAX, sizeof(size_t));
	t->types[t->type_count++] = v->type;
	for (size_t i = 0; i < p->type_count; i++)
		if (i != v->type && mw_profile_is_cpu_type(p, i) && mw_profile_total(p, i) != 0)
			t->types[t->type_count++] = i;
	for (size_t i = 0; i < p->type_count && t->type_count < TYPES_MAX; i++) {
		const char *type = mw_profile_string(p, p->types[i].type);
		bool is_known = strstr(type, "_space") != NULL ||
				strstr(type, "_objects") != NULL || p->type_count <= TYPES_MAX;
		if (i != v->type && is_known && !mw_profile_is_cpu_type(p, i) &&
		    mw_profile_total(p, i) != 0)
			t->types[t->type_count++] = i;
	}
}

/* ---- the largest frames ---- */

/* Returns the largest share that a node has of the total of a type. */
static double share_of(const mw_call_tree_t *t, size_t node) {
	double share = 0;
	for (size_t k = 0; k < t->type_count; k++) {
		double all = (double)t->values[k],
		       value = (double)t->values[node * t->column_count + k];
		double part = all != 0 ? fabs(value / all) : fabs(value);
		share = part > share ? part : share;
	}
	return share;
}

/* Returns the value that would stand at `rank` if the values were ordered, the largest first.
 * Hoare's selection; orders the values in part. */
static double select_largest(double *values, size_t count, size_t rank) {
	size_t low = 0, high = count - 1;
	while (low < high) {
		double pivot = values[low + (high - low) / 2];
		size_t i = low, k = high;
		for (;;) {
			while (values[i] > pivot)
				i++;
			while (values[k] < pivot)
				k--;
			if (i >= k)
				break;
			double value = values[i];
			values[i++] = values[k];
			values[k--] = value;
		}
		/* No value behind k is larger than the pivot, none up to k smaller. */
		if (rank <= k)
			high = k;
		else
			low = k + 1;
	}
	return values[rank];
}

/* Marks the nodes that stay: the largest, and their callers, which a difference may have smaller.
 */
static bool *choose_nodes(const mw_call_tree_t *t, size_t limit) {
	bool *stays = mw_xcalloc(t->node_count, sizeof(bool));
	double *shares = mw_xcalloc(t->node_count, sizeof(double));
	double *order = mw_xcalloc(t->node_count, sizeof(double));
	for (size_t i = 0; i < t->node_count; i++)
		order[i] = shares[i] = share_of(t, i);
	double least = select_largest(order, t->node_count, limit);
	size_t left = limit;
	for (size_t i = 0; i < t->node_count && left > 0; i++)
		if (shares[i] > least)
			stays[i] = left-- > 0;
	for (size_t i = 0; i < t->node_count && left > 0; i++)
		if (!stays[i] && shares[i] == least)
			stays[i] = left-- > 0;
	for (size_t i = t->node_count; i > 1; i--)
		if (stays[i - 1])
			stays[t->nodes[i - 1].parent] = true;
	stays[0] = true;
	free(order);
	free(shares);
	return stays;
}

static void add_sums(mw_call_tree_t *t, size_t to, size_t from) {
	for (size_t k = 0; k < t->column_count; k++)
		add_value(&t->values[to * t->column_count + k],
			  t->values[from * t->column_count + k]);
}

/* Moves the nodes that stay to the front. A node that goes becomes, as the first of its caller's,
 * the one that stands for all of them; those below it are counted with it. */
void mw_call_tree_limit(mw_call_tree_t *t, size_t limit) {
	if (limit == 0 || t->node_count <= limit + 1)
		return;
	bool *stays = choose_nodes(t, limit);
	uint32_t *moved = mw_xcalloc(t->node_count, sizeof(uint32_t));
	uint32_t *rest_of = mw_xcalloc(t->node_count, sizeof(uint32_t)); /* by moved caller */
	t->gathered = mw_xcalloc(t->node_count, sizeof(uint32_t));
	uint32_t count = 1;
	for (size_t i = 1; i < t->node_count; i++) {
		uint32_t caller = moved[t->nodes[i].parent];
		bool is_below = t->gathered[caller] > 0; /* its caller went, too */
		uint32_t *rest = stays[i] || is_below ? NULL : &rest_of[caller];
		if (is_below) {
			moved[i] = caller;
			t->gathered[caller]++;
			continue;
		}
		if (rest != NULL && *rest != 0) {
			moved[i] = *rest;
			t->gathered[*rest]++;
			add_sums(t, *rest, i);
			continue;
		}
		moved[i] = count;
		t->nodes[count] =
			(mw_call_t){.name = stays[i] ? t->nodes[i].name : 0, .parent = caller};
		memmove(&t->values[count * t->column_count], &t->values[i * t->column_count],
			t->column_count * sizeof(int64_t));
		t->gathered[count] = stays[i] ? 0 : 1;
		if (rest != NULL)
			*rest = count;
		count++;
	}
	t->node_count = count;
	free(rest_of);
	free(moved);
	free(stays);
}

void mw_call_tree_init(mw_call_tree_t *tree, const mw_view_t *v) {
	const mw_profile_t *p = v->profile;
	builder_t b = {.tree = tree, .view = v};
	*tree = (mw_call_tree_t){0};
	choose_types(tree, v);
	int live_type = mw_profile_find_type(p, "inuse_space");
	tree->has_ages = v->has_ages && live_type >= 0;
	tree->column_count = tree->type_count + tree->has_ages;
	b.live_type = tree->has_ages ? (size_t)live_type : 0;
	b.name_of_line = mw_xcalloc(p->line_count, sizeof(uint32_t));
	b.name_of_location = mw_xcalloc(p->location_count, sizeof(uint32_t));
	/* The root has the empty name, which no frame has. */
	uint32_t root = find_name(&b, mw_xstrdup(""), 0);
	find_node(&b, 0, root);
	for (size_t i = 0; i < p->sample_count; i++) {
		bool has_value = false;
		for (size_t k = 0; k < tree->type_count; k++)
			has_value |= mw_profile_values(p, i)[tree->types[k]] != 0;
		if (has_value)
			add_sample(&b, i);
	}
	mw_call_tree_find_modules(tree, p);
	free(b.name_of_line);
	free(b.name_of_location);
	mw_table_clear(&b.name_table);
	mw_table_clear(&b.node_table);
}

void mw_call_tree_release(mw_call_tree_t *tree) {
	for (size_t i = 0; i < tree->name_count; i++)
		free(tree->names[i]);
	for (size_t i = 0; i < tree->module_count; i++)
		free(tree->modules[i]);
	free(tree->modules);
	free(tree->name_modules);
	free(tree->name_mappings);
	free(tree->names);
	free(tree->nodes);
	free(tree->values);
	free(tree->types);
	free(tree->gathered);
}
