/* SPDX-License-Identifier: MIT
 * flame.c -- `flame`: an HTML file that contains the page and the profile, or a picture. */
#include <inttypes.h>

#include <string.h>

#include "view/common/json.h"
#include "view/common/view.h"
#include "view/common/web_page.h"
#include "view/picture/calltree.h"
#include "view/picture/pictures.h"

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

static void print_origin(const mw_view_t *v) {
	const mw_profile_t *p = v->profile;
	fputs("{\"program\":", v->out);
	mw_view_json_text(v->out, mw_profile_string(p, p->origin.program));
	fprintf(v->out, ",\"pid\":%" PRIu32 ",\"time_ns\":%" PRId64, p->origin.pid, p->time_ns);
	if (strcmp(mw_profile_string(p, p->period_type.unit), "bytes") == 0)
		fprintf(v->out, ",\"mean_bytes\":%" PRId64, p->period);
	if (v->low < v->high)
		fprintf(v->out, ",\"interval\":[%" PRId64 ",%" PRId64 "]", v->low, v->high);
	fputs(",\"base\":", v->out);
	mw_view_json_text(v->out, v->base != NULL ? v->base : "");
	fputs(",\"target\":", v->out);
	mw_view_json_text(v->out, v->target != NULL ? v->target : "");
	fputs(",\"filters\":", v->out);
	mw_view_json_text(v->out, v->filters != NULL ? v->filters : "");
	fputc(',', v->out);
}

static void print_texts(const mw_view_t *v, const char *key, char **texts, size_t count) {
	fprintf(v->out, ",\n\"%s\":[", key);
	for (size_t i = 0; i < count; i++) {
		fputs(i > 0 ? ",\n" : "", v->out);
		mw_view_json_text(v->out, texts[i]);
	}
	fputc(']', v->out);
}

/* Prints a number in a tenth of the time that fprintf() takes: a profile has hundreds of thousands.
 */
static void print_number(FILE *out, char before, int64_t number) {
	char text[24], *at = text + sizeof(text);
	uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
	do
		*--at = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	if (number < 0)
		*--at = '-';
	*--at = before;
	fwrite_unlocked(at, 1, (size_t)(text + sizeof(text) - at), out);
}

static void print_column(const mw_view_t *v, const mw_call_tree_t *tree, size_t column) {
	for (size_t i = 0; i < tree->node_count; i++)
		print_number(v->out, i > 0 ? ',' : '[',
			     tree->values[i * tree->column_count + column]);
	fputc(']', v->out);
}

static void print_data(const mw_view_t *v, const mw_call_tree_t *tree) {
	print_origin(v);
	print_types(v, tree);
	print_texts(v, "names", tree->names, tree->name_count);
	print_texts(v, "modules", tree->modules, tree->module_count);
	fputs(",\n\"name_modules\":", v->out);
	for (size_t i = 0; i < tree->name_count; i++)
		print_number(v->out, i > 0 ? ',' : '[', tree->name_modules[i]);
	/* Parents come before their children, so the page reads the list without recursion. */
	fputs("],\n\"parents\":", v->out);
	for (size_t i = 0; i < tree->node_count; i++)
		print_number(v->out, i > 0 ? ',' : '[', tree->nodes[i].parent);
	fputs("],\n\"labels\":", v->out);
	for (size_t i = 0; i < tree->node_count; i++)
		print_number(v->out, i > 0 ? ',' : '[', tree->nodes[i].name);
	fputs("],\n\"gathered\":[", v->out);
	/* Pairs of a node and how many frames it stands for. */
	const char *before = "";
	for (size_t i = 0; tree->gathered != NULL && i < tree->node_count; i++)
		if (tree->gathered[i] > 0) {
			fprintf(v->out, "%s%zu,%" PRIu32, before, i, tree->gathered[i]);
			before = ",";
		}
	fputs("],\n\"values\":[", v->out);
	for (size_t k = 0; k < tree->type_count; k++) {
		fputs(k > 0 ? ",\n" : "", v->out);
		print_column(v, tree, k);
	}
	fputc(']', v->out);
	if (tree->has_ages) {
		fputs(",\n\"ages\":", v->out);
		print_column(v, tree, tree->type_count);
	}
	fputc('}', v->out);
}

int mw_view_flame(const mw_view_t *v, mw_error_t *error) {
	mw_call_tree_t tree;
	if (v->svg) {
		mw_call_tree_init(&tree, v);
		mw_call_tree_svg(&tree, v);
		mw_call_tree_release(&tree);
		return 0;
	}
	if (!v->json && mw_web_page_begin(MW_WEB_PAGE_FLAME, v->out, error) != 0)
		return -1;
	mw_call_tree_init(&tree, v);
	mw_call_tree_limit(&tree, v->frame_limit);
	print_data(v, &tree);
	mw_call_tree_release(&tree);
	if (v->json)
		fputc('\n', v->out);
	else
		mw_web_page_end(MW_WEB_PAGE_FLAME, v->out);
	return 0;
}
