/* SPDX-License-Identifier: MIT
 * flame.c -- `flame`: one HTML file that holds the page and the profile, or a picture of it. */
#include <inttypes.h>

#include "view/calltree.h"
#include "view/json.h"
#include "view/page.h"
#include "view/view.h"

static void print_types(const mw_view_t *v, const mw_call_tree_t *tree) {
	const mw_profile_t *p = v->profile;
	fputs("\"types\":[", v->out);
	for (size_t i = 0; i < tree->type_count; i++) {
		const mw_value_type_t *type = &p->types[tree->types[i]];
		fputs(i > 0 ? ",{\"name\":" : "{\"name\":", v->out);
		mw_view_json_text(v->out, mw_profile_string(p, type->type));
		fputs(",\"unit\":", v->out);
		mw_view_json_text(v->out, mw_profile_string(p, type->unit));
		fputc('}', v->out);
	}
	fputc(']', v->out);
}

static void print_data(const mw_view_t *v, const mw_call_tree_t *tree) {
	const mw_profile_t *p = v->profile;
	fputs("{\"program\":", v->out);
	mw_view_json_text(v->out, mw_profile_string(p, p->origin.program));
	fputs(",\"filters\":", v->out);
	mw_view_json_text(v->out, v->filters != NULL ? v->filters : "");
	fputc(',', v->out);
	print_types(v, tree);
	fputs(",\n\"names\":[", v->out);
	for (size_t i = 0; i < tree->name_count; i++) {
		fputs(i > 0 ? ",\n" : "", v->out);
		mw_view_json_text(v->out, tree->names[i]);
	}
	/* Parents come before their children: the page needs no recursion to read it. */
	fputs("],\n\"parents\":[", v->out);
	for (size_t i = 0; i < tree->node_count; i++)
		fprintf(v->out, "%s%" PRIu32, i > 0 ? "," : "", tree->nodes[i].parent);
	fputs("],\n\"labels\":[", v->out);
	for (size_t i = 0; i < tree->node_count; i++)
		fprintf(v->out, "%s%" PRIu32, i > 0 ? "," : "", tree->nodes[i].name);
	fputs("],\n\"values\":[", v->out);
	for (size_t k = 0; k < tree->type_count; k++) {
		fputs(k > 0 ? ",\n[" : "[", v->out);
		for (size_t i = 0; i < tree->node_count; i++)
			fprintf(v->out, "%s%" PRId64, i > 0 ? "," : "",
				tree->values[i * tree->type_count + k]);
		fputc(']', v->out);
	}
	fputs("]}", v->out);
}

int mw_view_flame(const mw_view_t *v, mw_error_t *error) {
	mw_call_tree_t tree;
	if (v->svg) {
		mw_call_tree_init(&tree, v);
		mw_call_tree_svg(&tree, v);
		mw_call_tree_release(&tree);
		return 0;
	}
	if (!v->json && mw_page_begin(MW_PAGE_FLAME, v->out, error) != 0)
		return -1;
	mw_call_tree_init(&tree, v);
	print_data(v, &tree);
	mw_call_tree_release(&tree);
	if (v->json)
		fputc('\n', v->out);
	else
		mw_page_end(MW_PAGE_FLAME, v->out);
	return 0;
}
