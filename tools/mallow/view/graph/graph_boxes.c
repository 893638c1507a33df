/* SPDX-License-Identifier: MIT
 * graph_boxes.c -- chooses the labels that are drawn beside a node. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "view/graph/graph_parts.h"
#include "view/select/tags.h"

/* A possible box: one label sum, or several sums of similar sizes. */
typedef struct candidate {
	uint32_t text; /* for texts: number of the text's name */
	const char *label;
	int64_t size;      /* size of the first sum, which distances are measured from */
	int64_t low, high; /* smallest and largest size */
	bool is_range;
	int64_t flat, flat_divisor;
	int64_t cum, cum_divisor;
	bool by_flat; /* order of the list */
} candidate_t;

static int compare_candidates(const void *left, const void *right) {
	const candidate_t *a = left, *b = right;
	int order = a->by_flat ? 0 : mw_compare_magnitudes(a->cum, b->cum);
	if (order == 0)
		order = mw_compare_magnitudes(a->flat, b->flat);
	return order != 0 ? order : strcmp(a->label, b->label);
}

/* Returns a node's texts; or, with `of_sizes`, the sizes of samples with `text` (0 = without a
 * text).  The caller frees the list. */
static candidate_t *list_candidates(const mw_graph_t *g, const mw_node_t *n, bool of_sizes,
				    uint32_t text, size_t *count) {
	const mw_graph_tags_t *t = g->tags;
	candidate_t *list = NULL;
	size_t capacity = 0;
	*count = 0;
	for (uint32_t i = n->tags; i != 0; i = t->sums[i].next) {
		const mw_tag_sum_t *s = &t->sums[i];
		const mw_tag_name_t *name = &t->names[of_sizes ? s->size : s->text];
		if ((s->size != 0) != of_sizes || (of_sizes && s->text != text) ||
		    !mw_tag_sum_is_shown(t, s))
			continue;
		list = mw_grow(list, &capacity, *count + 1, sizeof(*list));
		list[(*count)++] = (candidate_t){.text = s->text,
						 .label = name->text,
						 .size = name->size,
						 .low = name->size,
						 .high = name->size,
						 .flat = s->flat,
						 .flat_divisor = s->flat_divisor,
						 .cum = s->cum,
						 .cum_divisor = s->cum_divisor,
						 .by_flat = n->out_count > 0};
	}
	if (*count > 0)
		qsort(list, *count, sizeof(*list), compare_candidates);
	return list;
}

static void divide_sums(candidate_t *list, size_t count) {
	for (size_t i = 0; i < count; i++) {
		mw_graph_divide(&list[i].flat, list[i].flat_divisor);
		mw_graph_divide(&list[i].cum, list[i].cum_divisor);
	}
}

static uint64_t distance(int64_t a, int64_t b) {
	return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

static void join(candidate_t *group, const candidate_t *other) {
	group->is_range = true;
	group->low = other->size < group->low ? other->size : group->low;
	group->high = other->size > group->high ? other->size : group->high;
	mw_graph_add(&group->flat, other->flat);
	mw_graph_add(&group->flat_divisor, other->flat_divisor);
	mw_graph_add(&group->cum, other->cum);
	mw_graph_add(&group->cum_divisor, other->cum_divisor);
}

/* Keeps the largest candidates, and adds each other one to the candidate of nearest size.
 * Returns how many are left. */
static size_t group_sizes(candidate_t *list, size_t count) {
	if (count <= MW_BOXES_OF_A_KIND) {
		divide_sums(list, count);
		return count;
	}
	for (size_t i = MW_BOXES_OF_A_KIND; i < count; i++) {
		candidate_t *nearest = &list[0];
		for (size_t k = 1; k < MW_BOXES_OF_A_KIND; k++)
			if (distance(list[i].size, list[k].size) <
			    distance(list[i].size, nearest->size))
				nearest = &list[k];
		join(nearest, &list[i]);
	}
	divide_sums(list, MW_BOXES_OF_A_KIND);
	qsort(list, MW_BOXES_OF_A_KIND, sizeof(*list), compare_candidates);
	return MW_BOXES_OF_A_KIND;
}

static const char *size_text(const mw_graph_t *g, int64_t size, char buffer[MW_TAG_BYTES]) {
	const mw_label_t label = {.key = g->tags->size_key, .number = size};
	return mw_tag_text(g->profile, &label, g->options.size_unit != NULL ? "auto" : NULL,
			   buffer);
}

/* Writes a range of sizes in units that fit, whatever the unit of values: in a large unit both
 * ends would be 0. */
static void print_range(const mw_graph_t *g, const candidate_t *c, mw_box_t *box) {
	char low[MW_TAG_BYTES], high[MW_TAG_BYTES];
	snprintf(box->range, sizeof(box->range), "%s%s%s", size_text(g, c->low, low),
		 c->is_range ? ".." : "", c->is_range ? size_text(g, c->high, high) : "");
	box->text = box->range;
}

/* Adds boxes for the sizes of samples with `text`, on box number `on`.  Returns their number. */
static size_t add_sizes(const mw_graph_t *g, const mw_node_t *n, uint32_t text, size_t on,
			mw_box_t *boxes) {
	size_t count, used = 0;
	candidate_t *list = list_candidates(g, n, true, text, &count);
	bool is_grouped = count > MW_BOXES_OF_A_KIND;
	count = group_sizes(list, count);
	for (size_t i = 0; i < count; i++) {
		const candidate_t *c = &list[i];
		bool is_bridge = !c->by_flat && c->flat != c->cum;
		int64_t value = c->by_flat ? c->flat : c->cum;
		if (value == 0)
			continue;
		mw_box_t *box = &boxes[used++];
		*box = (mw_box_t){
			.text = c->label, .value = value, .on = on, .is_bridge = is_bridge};
		if (is_grouped)
			print_range(g, c, box);
	}
	free(list);
	return used;
}

size_t mw_graph_boxes(const mw_graph_t *g, const mw_node_t *n, mw_box_t boxes[MW_BOXES_MAX]) {
	size_t count, used = 0;
	if (g->tags == NULL)
		return 0;
	candidate_t *list = list_candidates(g, n, false, 0, &count);
	count = count < MW_BOXES_OF_A_KIND ? count : MW_BOXES_OF_A_KIND;
	divide_sums(list, count);
	for (size_t i = 0; i < count; i++) {
		const candidate_t *c = &list[i];
		int64_t value = c->by_flat ? c->flat : c->cum;
		if (value == 0)
			continue;
		boxes[used++] = (mw_box_t){.text = c->label, .value = value};
		used += add_sizes(g, n, c->text, used, boxes + used);
	}
	free(list);
	return used + add_sizes(g, n, 0, 0, boxes + used);
}
