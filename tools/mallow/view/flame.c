/* SPDX-License-Identifier: MIT
 * flame.c -- `flame`: one HTML file that holds the page and the profile. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/alloc.h"
#include "view/calltree.h"
#include "view/json.h"
#include "view/view.h"

/* The page, with the word PROFILE where the data goes. */
__asm__(".pushsection .rodata\n"
	"page_begin:\n"
	".incbin \"" MALLOW_FLAME_PAGE "\"\n"
	"page_end:\n"
	".popsection\n");
extern const char page_begin[], page_end[];

static const char mark[] = "/*PROFILE*/";

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
	const char *at = memmem(page_begin, (size_t)(page_end - page_begin), mark, strlen(mark));
	if (at == NULL)
		return mw_error_set(error, "flame: the page is damaged; build mallow again");
	mw_call_tree_t tree;
	mw_call_tree_init(&tree, v);
	if (!v->json)
		fwrite(page_begin, 1, (size_t)(at - page_begin), v->out);
	print_data(v, &tree);
	if (!v->json)
		fwrite(at + strlen(mark), 1, (size_t)(page_end - at) - strlen(mark), v->out);
	else
		fputc('\n', v->out);
	mw_call_tree_release(&tree);
	return 0;
}
