/* SPDX-License-Identifier: MIT
 * topproto.c -- the table of functions as a profile, one sample for each row. */
#include "view/common/view.h"
#include "view/table/tables.h"

mw_profile_t *mw_view_top_profile(const mw_view_t *v) {
	const mw_profile_t *p = v->profile;
	const char *unit = mw_profile_string(p, p->types[v->type].unit);
	mw_graph_t *g = mw_graph_new(p, &v->graph);
	mw_profile_t *top = mw_profile_new();
	mw_profile_add_type(top, "cum", unit);
	top->default_type = (uint32_t)mw_profile_add_type(top, "flat", unit);
	top->time_ns = p->time_ns;
	top->duration_ns = p->duration_ns;
	top->period = p->period;
	top->period_type.type = mw_profile_intern(top, mw_profile_string(p, p->period_type.type));
	top->period_type.unit = mw_profile_intern(top, mw_profile_string(p, p->period_type.unit));
	for (size_t i = 0; i < mw_graph_count(g); i++) {
		const mw_node_t *n = mw_graph_node(g, i);
		/* A function without a name gets its text in the table. */
		const char *name =
			n->name != 0 || n->file != 0 ? mw_profile_string(p, n->name) : n->text;
		mw_function_t function = {
			.name = mw_profile_intern(top, name),
			.system_name = mw_profile_intern(top, name),
			.file = mw_profile_intern(top, mw_profile_string(p, n->file))};
		mw_line_t line = {.function = mw_profile_add_function(top, &function),
				  .line = n->line};
		uint32_t location = mw_profile_append_location(top, 0, n->address, true);
		mw_profile_set_lines(top, location, &line, 1);
		const int64_t values[] = {n->cum, n->flat};
		mw_profile_add_sample(top, &location, 1, values, NULL, 0);
	}
	mw_graph_free(g);
	return top;
}
