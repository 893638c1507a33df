/* SPDX-License-Identifier: MIT
 * view.c -- `mallow top` and the other views: from a command line to a view on stdout or in a file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/load.h"
#include "cmd/picture.h"
#include "cmd/show.h"
#include "cmd/view_options.h"
#include "model/merge.h"
#include "report/types.h"
#include "view/view.h"
#include "write/output.h"

/* As pprof: a picture or a tree of more is not read. */
#define DEFAULT_NODES 80
#define DEFAULT_NODE_FRACTION 0.005
#define DEFAULT_EDGE_FRACTION 0.001

typedef struct view_row {
	const char *name;
	mw_view_print_t *print;
	const char *type; /* unless chosen */
	bool is_whole;
	bool needs_labels;
} view_row_t;

static const view_row_t views[] = {
#define MW_VIEW(name, operands, count, print, is_whole, needs_labels, type, ...)                   \
	{#name, print, type, is_whole, needs_labels},
#include "cmd/views.def"
#undef MW_VIEW
};

static const view_row_t *find_view(const char *name) {
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
		if (strcmp(views[i].name, name) == 0)
			return &views[i];
	return NULL;
}

typedef struct request {
	const mw_arguments_t *arguments;
	const view_row_t *view;
	const mw_picture_t *picture; /* what the output's name asks for; NULL: text */
	const char *path;            /* NULL: stdout */
	const char *base;            /* NULL: none */
	bool is_diff;
} request_t;

static bool given(const request_t *r, const char *name) {
	return mw_argument(r->arguments, name)->given;
}

static double number(const request_t *r, const char *name, double standard) {
	const mw_option_value_t *value = mw_argument(r->arguments, name);
	return value->given ? value->fraction : standard;
}

static bool wants_labels(const request_t *r) {
	return r->view->needs_labels || mw_view_options_need_labels(r->arguments);
}

static void set_graph_options(const request_t *r, mw_view_t *v) {
	const mw_option_value_t *trim = mw_argument(r->arguments, "trim");
	const mw_option_value_t *count = mw_argument(r->arguments, "nodecount");
	v->graph = (mw_graph_options_t){
		.type = v->type,
		.granularity = mw_view_options_granularity(r->arguments),
		.sort_by_cum = given(r, "cum"),
		.drop_negative = given(r, "drop-negative"),
	};
	bool is_graph = r->view->print == mw_view_dot;
	v->graph.is_picture = is_graph;
	v->graph.call_tree = is_graph && given(r, "call-tree");
	if (r->view->is_whole || (trim->given && trim->number == 0))
		return;
	v->graph.node_count = count->given                    ? (size_t)count->number
			      : r->view->print == mw_view_top ? 0
							      : DEFAULT_NODES;
	v->graph.node_fraction = number(r, "nodefraction", DEFAULT_NODE_FRACTION);
	v->graph.edge_fraction = number(r, "edgefraction", DEFAULT_EDGE_FRACTION);
}

/* By name, by number, or by what older profiles call it. */
static int find_type(const request_t *r, const mw_profile_t *p, size_t *type, mw_error_t *error) {
	const char *name = mw_view_options_type(r->arguments);
	if (name == NULL)
		name = r->view->type;
	char *end;
	unsigned long index = name != NULL ? strtoul(name, &end, 10) : 0;
	if (name != NULL && *name >= '0' && *name <= '9' && *end == '\0' && index < p->type_count) {
		*type = index;
		return 0;
	}
	const char *plain = name != NULL && strncmp(name, "inuse_", 6) == 0 ? name + 6 : NULL;
	if (plain != NULL && mw_profile_find_type(p, name) < 0 &&
	    mw_profile_find_type(p, plain) >= 0)
		name = plain;
	return mw_report_find_type(p, name, type, error);
}

static int load_base(const request_t *r, mw_profile_t *profile, mw_error_t *error) {
	mw_target_t target;
	if (mw_target_resolve(r->base, &target, error) != 0)
		return -1;
	mw_profile_t *base = NULL;
	int result = mw_load(&target, MW_LOAD_SYMBOLS_NOTES,
			     wants_labels(r) ? MW_LOAD_SPLIT : MW_LOAD_STACKS, &base, error);
	if (result == 0)
		mw_profile_subtract(profile, base, given(r, "normalize"));
	mw_profile_free(base);
	mw_target_release(&target);
	return result;
}

/* What percentages are of: the magnitudes of all stacks; with a diff, of the base. */
static int64_t total_of(const mw_profile_t *p, size_t type, size_t first) {
	int64_t total = 0;
	for (size_t i = first; i < p->sample_count; i++) {
		int64_t value = mw_profile_values(p, i)[type];
		if (value == INT64_MIN ||
		    __builtin_add_overflow(total, value < 0 ? -value : value, &total))
			return INT64_MAX;
	}
	return total;
}

/* Totals come before the selection, so that percentages are of everything, unless asked for
 * otherwise. */
static int select_and_sum(const request_t *r, mw_profile_t *p, mw_view_t *v, mw_error_t *error) {
	mw_selection_t selection;
	mw_view_options_selection(r->arguments, &selection);
	size_t own_count = p->sample_count;
	if (r->base != NULL && load_base(r, p, error) != 0)
		return -1;
	if (find_type(r, p, &v->type, error) != 0)
		return -1;
	if (r->base != NULL && !r->is_diff) {
		mw_profile_combine(p);
		own_count = p->sample_count;
	}
	v->total = total_of(p, v->type, r->is_diff ? own_count : 0);
	if (v->total == 0)
		v->total = total_of(p, v->type, 0);
	if (mw_selection_apply(p, &selection, error) != 0)
		return -1;
	if (given(r, "relative-percentages"))
		v->total = total_of(p, v->type, 0);
	return 0;
}

static int check_unit(const mw_view_t *v, mw_error_t *error) {
	if (v->unit == NULL || mw_view_knows_unit(v->unit))
		return 0;
	return mw_error_set(error,
			    "--unit does not take '%s'; allowed: auto, minimum, B, kB, MB, GB, TB, "
			    "PB, and ns, us, ms, s, mins, hrs for times",
			    v->unit);
}

static int print_text(const request_t *r, const mw_view_t *v, mw_error_t *error) {
	char *text = NULL;
	size_t length = 0;
	mw_view_t copy = *v;
	copy.out = open_memstream(&text, &length);
	if (copy.out == NULL)
		return mw_error_set(error, "%s: %s; try a smaller profile", r->view->name,
				    strerror(errno));
	int result = r->view->print(&copy, error);
	fclose(copy.out);
	if (result == 0 && r->path == NULL)
		fwrite(text, 1, length, stdout);
	else if (result == 0)
		result = mw_picture_write(r->picture, r->path, text, length, error);
	free(text);
	return result;
}

static int show(const request_t *r, mw_profile_t *profile, mw_error_t *error) {
	mw_view_t v = {
		.profile = profile,
		.unit = mw_argument(r->arguments, "unit")->text,
		.ratio = 1 / number(r, "divide-by", 1),
		.pattern = r->arguments->subcommand->operands_min == 2 ? r->arguments->operands[0]
								       : NULL,
		.source_path = mw_argument(r->arguments, "source-path")->text,
		.columns = r->path == NULL ? mw_terminal_columns(stdout) : 0,
		.json = given(r, "json") || mw_picture_is_json(r->picture),
	};
	if (select_and_sum(r, profile, &v, error) != 0 || check_unit(&v, error) != 0)
		return -1;
	if (mw_picture_is_profile(r->picture))
		return mw_write_profile(profile, r->path, mw_format_of_name(r->path),
					MW_GZIP_BY_NAME, error);
	set_graph_options(r, &v);
	char *filters = mw_view_options_filters(r->arguments);
	v.filters = filters;
	int result = print_text(r, &v, error);
	free(filters);
	return result;
}

static int view_target(const mw_target_t *target, const void *context, mw_error_t *error) {
	const request_t *r = context;
	mw_profile_t *profile;
	if (mw_load(target, MW_LOAD_SYMBOLS_NOTES, wants_labels(r) ? MW_LOAD_SPLIT : MW_LOAD_STACKS,
		    &profile, error) != 0)
		return -1;
	int result = show(r, profile, error);
	mw_profile_free(profile);
	return result;
}

int mw_cmd_view(const mw_arguments_t *arguments) {
	mw_load_take_options(arguments);
	const char *name = arguments->subcommand->name;
	request_t r = {.arguments = arguments,
		       .view = find_view(name),
		       .path = mw_argument(arguments, "output")->text};
	if (r.view == NULL) /* report, which comes here for what its output's name asks */
		r.view = find_view("top");
	if (r.path != NULL && strcmp(r.path, "-") == 0)
		r.path = NULL;
	if (r.path != NULL) {
		r.picture = mw_picture_find(r.path);
		const char *view = mw_picture_view(r.picture);
		if (view != NULL)
			r.view = find_view(view);
	}
	if (r.path == NULL && r.view->print == mw_view_flame && isatty(STDOUT_FILENO)) {
		mw_complain("flame: a web page is nothing for a terminal; give --output FILE.html");
		return MW_EXIT_TROUBLE;
	}
	r.is_diff = given(&r, "diff-base") || strcmp(name, "diff") == 0;
	r.base = mw_argument(arguments, r.is_diff ? "diff-base" : "base")->text;
	if (strcmp(name, "diff") == 0)
		r.base = arguments->operands[0];
	return mw_on_target(arguments->operands[arguments->operand_count - 1], view_target, &r);
}
