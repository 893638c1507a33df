/* SPDX-License-Identifier: MIT
 * graph_sums.c -- adds up stacks into nodes and edges. */
#include "view/graph/graph_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"

/* Fields that distinguish two nodes. */
typedef struct identity {
	mw_string_t name, file, module;
	uint32_t parent;
	int64_t line;
	uint64_t address;
} identity_t;

static identity_t identify(const mw_profile_t *p, uint32_t location, const mw_line_t *line,
			   mw_granularity_t granularity) {
	const mw_location_t *l = &p->locations[location];
	identity_t id = {.address = granularity == MW_BY_ADDRESS ? l->address : 0};
	if (line != NULL) {
		const mw_function_t *f = &p->functions[line->function];
		if (granularity != MW_BY_FILE)
			id.name = f->name;
		if (granularity != MW_BY_FUNCTION)
			id.file = f->file;
		if (granularity == MW_BY_LINE || granularity == MW_BY_ADDRESS)
			id.line = line->line;
	}
	if (id.name == 0 && id.file == 0)
		id.module = p->mappings[l->mapping].path;
	return id;
}

/* Returns a node's text as pprof writes it: address, function, file:line or file, otherwise
 * [module]. */
static char *text_of(const mw_profile_t *p, const identity_t *id) {
	const char *name = mw_profile_string(p, id->name), *file = mw_profile_string(p, id->file);
	const char *module = mw_profile_string(p, id->module), *slash = strrchr(module, '/');
	size_t size = strlen(name) + strlen(file) + strlen(module) + 64;
	char *text = mw_xcalloc(size, 1), *end = text;
	/* Without printf, which would take a tenth of the time of a view of a large profile. */
	if (id->address != 0)
		end += snprintf(text, size, "%016" PRIx64 " ", id->address);
	if (*name != '\0')
		end = stpcpy(stpcpy(end, name), " ");
	if (id->line != 0 || *file != '\0')
		end = stpcpy(end, file);
	else if (*name == '\0' && *module != '\0')
		end = stpcpy(stpcpy(stpcpy(end, "["), slash != NULL ? slash + 1 : module), "]");
	else if (*name == '\0')
		end = stpcpy(end, "<unknown>");
	if (id->line != 0)
		end += snprintf(end, size - (size_t)(end - text), ":%" PRId64, id->line);
	if (end > text && end[-1] == ' ')
		end[-1] = '\0';
	return text;
}

char *mw_frame_text(const mw_profile_t *p, uint32_t location, const mw_line_t *line,
		    mw_granularity_t granularity) {
	identity_t id = identify(p, location, line, granularity);
	return text_of(p, &id);
}

static bool node_equal(const void *context, uint32_t entry, const void *key) {
	const mw_node_t *have = &((const mw_graph_t *)context)->nodes[entry];
	const identity_t *want = key;
	return have->name == want->name && have->file == want->file &&
	       have->module == want->module && have->parent == want->parent &&
	       have->line == want->line && have->address == want->address;
}

static uint32_t find_node(mw_graph_t *g, const identity_t *id) {
	uint64_t hash = mw_table_hash(id, sizeof(*id));
	uint32_t node = mw_table_find(&g->node_table, hash, node_equal, g, id);
	if (node != 0)
		return node;
	g->nodes = mw_grow(g->nodes, &g->node_capacity, g->node_count + 1, sizeof(mw_node_t));
	node = (uint32_t)g->node_count++;
	g->nodes[node] = (mw_node_t){.name = id->name,
				     .file = id->file,
				     .line = id->line,
				     .address = id->address,
				     .module = id->module,
				     .parent = id->parent,
				     .is_kept = true,
				     .text = text_of(g->profile, id)};
	mw_table_add(&g->node_table, hash, node);
	return node;
}

static bool edge_equal(const void *context, uint32_t entry, const void *key) {
	const mw_edge_t *have = &((const mw_graph_t *)context)->edges[entry];
	const uint32_t *want = key;
	return have->caller == want[0] && have->callee == want[1];
}

static mw_edge_t *find_edge(mw_graph_t *g, uint32_t caller, uint32_t callee) {
	/* Most calls of a node come from the node that called it last. */
	uint32_t *last_in = &g->nodes[callee].last_in;
	if (*last_in != 0 && g->edges[*last_in].caller == caller)
		return &g->edges[*last_in];
	const uint32_t key[2] = {caller, callee};
	uint64_t hash = mw_table_hash(key, sizeof(key));
	uint32_t edge = mw_table_find(&g->edge_table, hash, edge_equal, g, key);
	if (edge == 0) {
		g->edges =
			mw_grow(g->edges, &g->edge_capacity, g->edge_count + 1, sizeof(mw_edge_t));
		edge = (uint32_t)g->edge_count++;
		g->edges[edge] = (mw_edge_t){.caller = caller, .callee = callee, .is_inline = true};
		mw_table_add(&g->edge_table, hash, edge);
	}
	*last_in = edge;
	return &g->edges[edge];
}

/* State of the walk along a stack. */
typedef struct walk {
	size_t sample;
	int64_t value, divisor;
	uint32_t context; /* last node, kept or not; for call trees only */
	uint32_t parent;  /* last node that was kept */
	bool is_residual; /* nodes were left out since `parent` */
	bool is_inlined;  /* nodes were left out since `parent`, and all of them were inlined */
} walk_t;

/* Returns the node of line `k` of a location, or of a location without lines.  A node is found
 * once, except in call trees, where it depends on the path. */
static uint32_t node_of(mw_graph_t *g, const walk_t *w, uint32_t location, uint32_t k) {
	const mw_profile_t *p = g->profile;
	const mw_location_t *l = &p->locations[location];
	bool has_line = l->line_count > 0;
	uint32_t *known = has_line ? &g->of_line[l->line_first + k] : &g->of_location[location];
	if (*known != 0 && !g->options.call_tree)
		return *known;
	identity_t id = identify(p, location, has_line ? &p->lines[l->line_first + k] : NULL,
				 g->options.granularity);
	id.parent = w->context;
	*known = find_node(g, &id);
	return *known;
}

static void walk_frame(mw_graph_t *g, walk_t *w, uint32_t number, bool is_inlined) {
	mw_node_t *node = &g->nodes[number];
	if (g->options.call_tree)
		w->context = number;
	/* In a tree there is one path, which pprof calls inlined if every node on it is. */
	if (g->options.call_tree && w->is_residual)
		is_inlined &= w->is_inlined;
	if (!node->is_kept) {
		w->is_residual = true;
		w->is_inlined = is_inlined;
		return;
	}
	if (node->last_sample != w->sample + 1) {
		mw_graph_add(&node->cum, w->value);
		mw_graph_add(&node->cum_divisor, w->divisor);
		mw_graph_tags_add(g, number,
				  &(mw_tagged_value_t){w->sample, w->value, w->divisor, false});
	}
	node->last_sample = w->sample + 1;
	if (w->parent != 0 && w->parent != number) {
		mw_edge_t *edge = find_edge(g, w->parent, number);
		if (edge->last_sample != w->sample + 1) {
			mw_graph_add(&edge->weight, w->value);
			mw_graph_add(&edge->divisor, w->divisor);
			edge->is_residual |= w->is_residual;
			edge->is_inline &= is_inlined;
		}
		edge->last_sample = w->sample + 1;
	}
	w->parent = number;
	w->is_residual = false;
}

static void add_sample(mw_graph_t *g, size_t sample) {
	const mw_profile_t *p = g->profile;
	const mw_sample_t *s = &p->samples[sample];
	const int64_t *values = mw_profile_values(p, sample);
	walk_t w = {.sample = sample,
		    .value = values[g->options.type],
		    .divisor = g->options.is_mean ? values[0] : 0};
	if (w.value == 0 && w.divisor == 0)
		return;
	for (uint32_t i = s->depth; i > 0; i--) {
		uint32_t location = p->frames[s->frame_first + i - 1];
		uint32_t frames = mw_location_frames(&p->locations[location]);
		for (uint32_t k = frames; k > 0; k--)
			walk_frame(g, &w, node_of(g, &w, location, k - 1), k != frames);
	}
	if (w.parent != 0 && !w.is_residual) {
		mw_graph_add(&g->nodes[w.parent].flat, w.value);
		mw_graph_add(&g->nodes[w.parent].flat_divisor, w.divisor);
		if (g->options.variances != NULL)
			g->nodes[w.parent].flat_variance += g->options.variances[sample];
		mw_graph_tags_add(g, w.parent,
				  &(mw_tagged_value_t){w.sample, w.value, w.divisor, true});
	}
}

void mw_graph_accumulate(mw_graph_t *g) {
	for (size_t i = 1; i < g->node_count; i++) {
		g->nodes[i].flat = g->nodes[i].cum = 0;
		g->nodes[i].flat_variance = 0;
		g->nodes[i].flat_divisor = g->nodes[i].cum_divisor = 0;
		g->nodes[i].last_sample = 0;
		g->nodes[i].last_in = 0;
		g->nodes[i].tags = 0;
	}
	mw_graph_tags_reset(g);
	mw_table_clear(&g->edge_table);
	g->edge_count = 1;
	for (size_t i = 0; i < g->profile->sample_count; i++)
		add_sample(g, i);
}
