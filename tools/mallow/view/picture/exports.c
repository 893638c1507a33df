/* SPDX-License-Identifier: MIT
 * exports.c -- `speedscope` and `callgrind`: files for these viewers. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "model/text.h"
#include "report/text/names.h"
#include "view/picture/pictures.h"

#include "view/common/json.h"
#include "view/common/view.h"
#include "view/picture/calltree.h"

static int64_t own_value(const mw_call_tree_t *t, size_t node, const int64_t *below) {
	int64_t own;
	return __builtin_sub_overflow(t->values[node * t->column_count], below[node], &own) ? 0
											    : own;
}

static void print_stack(FILE *out, const mw_call_tree_t *t, size_t node, const char *before) {
	uint32_t path[1024]; /* deeper stacks lose their outermost frames */
	size_t depth = 0;
	for (; node != 0 && depth < sizeof(path) / sizeof(path[0]); node = t->nodes[node].parent)
		path[depth++] = t->nodes[node].name;
	fprintf(out, "%s[", before);
	for (size_t i = depth; i > 0; i--)
		fprintf(out, "%" PRIu32 "%s", path[i - 1], i > 1 ? "," : "");
	fputc(']', out);
}

int mw_view_speedscope(const mw_view_t *v, mw_error_t *error) {
	(void)error;
	const mw_profile_t *p = v->profile;
	const char *unit = mw_profile_string(p, p->types[v->type].unit);
	/* The units that speedscope knows. */
	bool is_known = strcmp(unit, "bytes") == 0 || strcmp(unit, "nanoseconds") == 0 ||
			strcmp(unit, "microseconds") == 0 || strcmp(unit, "milliseconds") == 0 ||
			strcmp(unit, "seconds") == 0;
	mw_call_tree_t t;
	mw_call_tree_init(&t, v);
	int64_t *below = mw_xcalloc(t.node_count, sizeof(*below)), total = 0;
	for (size_t i = t.node_count; i > 1; i--)
		if (__builtin_add_overflow(below[t.nodes[i - 1].parent],
					   t.values[(i - 1) * t.column_count],
					   &below[t.nodes[i - 1].parent]))
			below[t.nodes[i - 1].parent] = INT64_MAX;
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"mallow\",\"shared\":{\"frames\":[",
	      v->out);
	for (size_t i = 0; i < t.name_count; i++) {
		fputs(i > 0 ? ",\n{\"name\":" : "{\"name\":", v->out);
		mw_view_json_text(v->out, t.names[i]);
		fputc('}', v->out);
	}
	fputs("]},\n\"profiles\":[{\"type\":\"sampled\",\"name\":", v->out);
	mw_view_json_text(v->out, mw_profile_string(p, p->types[v->type].type));
	fprintf(v->out, ",\"unit\":\"%s\",\"startValue\":0,\n\"samples\":[",
		is_known ? unit : "none");
	const char *before = "";
	for (size_t i = 0; i < t.node_count; i++)
		if (own_value(&t, i, below) > 0) {
			print_stack(v->out, &t, i, before);
			before = ",\n";
		}
	fputs("],\n\"weights\":[", v->out);
	before = "";
	for (size_t i = 0; i < t.node_count; i++) {
		int64_t own = own_value(&t, i, below);
		if (own <= 0)
			continue;
		fprintf(v->out, "%s%" PRId64, before, own);
		before = ",";
		if (__builtin_add_overflow(total, own, &total))
			total = INT64_MAX;
	}
	fprintf(v->out, "],\n\"endValue\":%" PRId64 "}]}\n", total);
	free(below);
	mw_call_tree_release(&t);
	return 0;
}

static void print_plain(const mw_view_t *v, const char *key, const char *text) {
	fprintf(v->out, "%s=", key);
	mw_text_print(v->out, text);
	fputc('\n', v->out);
}

int mw_view_callgrind(const mw_view_t *v, mw_error_t *error) {
	(void)error;
	/* The viewers add up lines themselves, so nothing is left out. */
	mw_graph_options_t options = v->graph;
	if (options.granularity == MW_BY_FUNCTION)
		options.granularity = MW_BY_LINE;
	mw_graph_t *g = mw_graph_new(v->profile, &options);
	const mw_profile_t *p = v->profile;
	const mw_value_type_t *type = &p->types[v->type];
	fputs("positions: line\nevents: ", v->out);
	mw_text_print(v->out, mw_profile_string(p, type->type));
	fputc('(', v->out);
	mw_text_print(v->out, mw_profile_string(p, type->unit));
	fputs(")\n", v->out);
	for (size_t i = 0; i < mw_graph_count(g); i++) {
		const mw_node_t *n = mw_graph_node(g, i);
		fputc('\n', v->out);
		print_plain(v, "fl", n->file != 0 ? mw_profile_string(p, n->file) : "???");
		print_plain(v, "fn", n->name != 0 ? mw_profile_string(p, n->name) : n->text);
		fprintf(v->out, "%" PRId64 " %" PRId64 "\n", n->line, n->flat);
		for (size_t k = 0; k < n->out_count; k++) {
			const mw_edge_t *e = mw_graph_edge_at(g, n->out[k]);
			const mw_node_t *to = mw_graph_node_at(g, e->callee);
			print_plain(v, "cfi",
				    to->file != 0 ? mw_profile_string(p, to->file) : "???");
			print_plain(v, "cfn",
				    to->name != 0 ? mw_profile_string(p, to->name) : to->text);
			/* The number of calls is not known. */
			fprintf(v->out, "calls=0 %" PRId64 "\n%" PRId64 " %" PRId64 "\n", to->line,
				n->line, e->weight);
		}
	}
	mw_graph_free(g);
	return 0;
}
