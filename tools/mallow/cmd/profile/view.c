/* SPDX-License-Identifier: MIT
 * view.c -- `mallow top` and the other views: from a command line to a view on stdout or in a
 * file. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/complain.h"
#include "cli/pager.h"
#include "cli/print.h"
#include "cli/terminal.h"
#include "cmd/profile/live_top.h"
#include "cmd/profile/moments.h"
#include "cmd/profile/output_file.h"
#include "cmd/profile/profile_commands.h"
#include "cmd/profile/view.h"
#include "cmd/profile/view_options.h"
#include "formats/file/output.h"
#include "report/interval.h"
#include "report/text/types.h"
#include "view/code/listings.h"
#include "view/common/view.h"
#include "view/picture/pictures.h"
#include "view/select/pattern.h"
#include "view/select/tags.h"
#include "view/select/wrappers.h"
#include "view/table/tables.h"

/* Most nodes by default, as in pprof.  A larger picture or tree is hard to read. */
#define DEFAULT_NODES 80
#define DEFAULT_NODE_FRACTION 0.005
#define DEFAULT_EDGE_FRACTION 0.001

typedef struct view_row {
	const char *name;
	mw_view_print_t *print;
	const char *type; /* sample type that the view uses unless the user chooses one */
	bool is_whole;
	bool needs_labels;
} view_row_t;

static const view_row_t views[] = {
#define MW_VIEW(name, operands, min, max, print, is_whole, needs_labels, type, ...)                \
	{#name, print, type, is_whole, needs_labels},
#define MW_VIEW_LIVE MW_VIEW
#include "cmd/profile/views.def"
#undef MW_VIEW_LIVE
#undef MW_VIEW
};

static const view_row_t *find_view(const char *name) {
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
		if (strcmp(views[i].name, name) == 0)
			return &views[i];
	return NULL;
}

/* A command line and its meaning. */
typedef struct request {
	const mw_arguments_t *arguments;
	const view_row_t *view;
	const mw_picture_t *picture; /* picture that the output's name asks for; NULL = text */
	const char *path;            /* NULL = stdout */
} request_t;

static bool given(const request_t *r, const char *name) {
	return mw_argument(r->arguments, name)->given;
}

static bool is_report(const request_t *r) {
	return strcmp(r->arguments->subcommand->name, "report") == 0;
}

static double number(const request_t *r, const char *name, double standard) {
	const mw_option_value_t *value = mw_argument(r->arguments, name);
	return value->given ? value->fraction : standard;
}

static bool wants_labels(const request_t *r) {
	return r->view->needs_labels || mw_view_options_need_labels(r->arguments);
}

/* `report` has its own names for both options. */
static bool is_all_wanted(const request_t *r) {
	const mw_option_value_t *trim = mw_argument(r->arguments, "trim");
	return r->view->is_whole || (trim->given && trim->number == 0) ||
	       (is_report(r) && given(r, "all"));
}

static size_t wanted_rows(const request_t *r) {
	if (mw_subcommand_has_option(r->arguments->subcommand, "top", 3) && given(r, "top"))
		return (size_t)mw_argument(r->arguments, "top")->number;
	if (given(r, "nodecount"))
		return (size_t)mw_argument(r->arguments, "nodecount")->number;
	return r->view->print == mw_view_top ? 0 : DEFAULT_NODES;
}

static void set_graph_options(const request_t *r, mw_view_t *v) {
	v->graph = (mw_graph_options_t){
		.type = v->type,
		.granularity = mw_view_options_granularity(r->arguments),
		.sort_by_cum = given(r, "cum"),
		.drop_negative = given(r, "drop-negative"),
		.is_mean = mw_view_options_is_mean(r->arguments),
	};
	bool is_graph = r->view->print == mw_view_dot;
	v->graph.is_picture = is_graph;
	v->graph.call_tree = is_graph && given(r, "call-tree");
	if (is_all_wanted(r))
		return;
	v->graph.node_count = wanted_rows(r);
	v->graph.node_fraction = number(r, "nodefraction", DEFAULT_NODE_FRACTION);
	v->graph.edge_fraction = number(r, "edgefraction", DEFAULT_EDGE_FRACTION);
	v->graph.max_degree = (size_t)mw_argument(r->arguments, "maxdegree")->number;
}

/* Finds a type by its name, its number, or its name in older profiles. */
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
	/* In jeprof, profiles of allocations without frees have types of memory in use. */
	char live[64];
	if (r->arguments->is_jeprof && name != NULL && strncmp(name, "alloc_", 6) == 0 &&
	    mw_profile_find_type(p, name) < 0) {
		snprintf(live, sizeof(live), "inuse_%s", name + 6);
		name = live;
	}
	const char *plain = name != NULL && strncmp(name, "inuse_", 6) == 0 ? name + 6 : NULL;
	if (plain != NULL && mw_profile_find_type(p, name) < 0 &&
	    mw_profile_find_type(p, plain) >= 0)
		name = plain;
	return mw_report_find_type(p, name, type, error);
}

/* Finds the type to show for a process that holds nothing: the peak, or else allocations. */
static size_t find_instead(const mw_profile_t *p, size_t type, bool by_label, int64_t *sum) {
	int peak = mw_profile_find_type(p, "peak_space");
	*sum = peak >= 0 && !by_label ? mw_profile_total(p, (size_t)peak) : 0;
	return *sum > 0 ? (size_t)peak : mw_report_largest_type(p, type, sum);
}

void mw_view_choose_type(const mw_arguments_t *arguments, const mw_profile_t *p, bool by_label,
			 size_t *type) {
	int64_t sum;
	char value[MW_SHOW_BYTES];
	bool is_old = arguments->is_pprof || arguments->is_jeprof || arguments->is_shell;
	if (is_old || mw_view_options_type(arguments) != NULL ||
	    mw_argument(arguments, "base")->given || mw_argument(arguments, "diff-base")->given ||
	    strcmp(arguments->subcommand->name, "diff") == 0 || !mw_report_is_empty(p, *type))
		return;
	const char *empty = mw_profile_string(p, p->types[*type].type);
	size_t other = find_instead(p, *type, by_label, &sum);
	if (sum == 0)
		return;
	const char *shown = mw_profile_string(p, p->types[other].type);
	mw_complain("note: %s is 0, so this shows %s, %s: %s; --sample-type chooses", empty,
		    strncmp(shown, "peak_", 5) == 0    ? "the peak"
		    : strncmp(shown, "alloc_", 6) == 0 ? "all that was allocated"
						       : "the largest",
		    shown, mw_report_value(p, other, sum, value, sizeof(value)));
	*type = other;
}

void mw_view_note_thread(const mw_arguments_t *arguments, const mw_profile_t *p) {
	char others[512], shown[sizeof(others)], wanted[64];
	const char *thread = mw_argument(arguments, "thread")->text;
	if (thread == NULL || arguments->is_jeprof || p->sample_count == 0 ||
	    mw_selection_knows_thread(p, thread, others, sizeof(others)))
		return;
	mw_show_text(thread, wanted, sizeof(wanted));
	if (*others == '\0')
		mw_complain("note: there is nothing of a thread '%s': this profile tells no "
			    "threads apart",
			    wanted);
	else
		mw_complain("note: there is nothing of a thread '%s'; there are: %s", wanted,
			    mw_show_text(others, shown, sizeof(shown)));
}

static int64_t divided(int64_t sum, int64_t divisor) {
	return divisor != 0 ? sum / divisor : sum;
}

/* Adds up the magnitudes of all samples from `first` on.  With --mean the sum is divided by the
 * first type's sum. */
static int64_t total_of(const request_t *r, const mw_profile_t *p, size_t type, size_t first) {
	int64_t total = 0, divisor = 0;
	bool is_mean = mw_view_options_is_mean(r->arguments);
	for (size_t i = first; i < p->sample_count; i++) {
		const int64_t *values = mw_profile_values(p, i);
		if (values[type] == INT64_MIN ||
		    __builtin_add_overflow(total, values[type] < 0 ? -values[type] : values[type],
					   &total))
			return INT64_MAX;
		if (is_mean && __builtin_add_overflow(divisor, values[0], &divisor))
			return INT64_MAX;
	}
	return divided(total, divisor);
}

/* Returns the value that percentages refer to: all stacks, or for a difference the base. */
static int64_t whole_of(const request_t *r, const mw_profile_t *p, size_t type, size_t base_first) {
	int64_t total = base_first < p->sample_count ? total_of(r, p, type, base_first) : 0;
	return total != 0 ? total : total_of(r, p, type, 0);
}

/* True if wrappers are removed from stacks.  Listings of chosen functions, and formats for other
 * tools, have whole stacks, and so have the command lines of pprof and jeprof. */
static bool cuts_wrappers(const request_t *r) {
	mw_view_print_t *print = r->view->print;
	bool is_old = r->arguments->is_pprof || r->arguments->is_jeprof || r->arguments->is_shell;
	return !is_old && !given(r, "wrappers") && !mw_picture_is_profile(r->picture) &&
	       (print == mw_view_top || print == mw_view_tree || print == mw_view_dot ||
		print == mw_view_flame);
}

/* Totals are computed before the selection, so that percentages refer to the whole profile,
 * unless the user asks otherwise. */
static int select_and_sum(const request_t *r, mw_profile_t *p, size_t base_first, mw_view_t *v,
			  mw_error_t *error) {
	mw_selection_t selection;
	mw_view_options_selection(r->arguments, &selection);
	if (find_type(r, p, &v->type, error) != 0)
		return -1;
	if (r->view->type == NULL)
		mw_view_choose_type(r->arguments, p, r->view->needs_labels, &v->type);
	mw_view_note_thread(r->arguments, p);
	/* In jeprof a thread's profile is a profile of its own. */
	if (r->arguments->is_jeprof && selection.thread != NULL) {
		const mw_selection_t thread = {.thread = selection.thread};
		if (mw_selection_apply_split(p, &thread, &base_first, error) != 0)
			return -1;
		v->thread = selection.thread;
	}
	v->sum = mw_profile_total(p, v->type);
	v->total = whole_of(r, p, v->type, base_first);
	if (mw_selection_apply_split(p, &selection, &base_first, error) != 0)
		return -1;
	if (given(r, "relative-percentages"))
		v->total = whole_of(r, p, v->type, base_first);
	if (cuts_wrappers(r))
		mw_wrappers_cut(p);
	return 0;
}

static int check_unit(const char *unit, mw_error_t *error) {
	if (unit == NULL || mw_view_knows_unit(unit))
		return 0;
	return mw_error_set(error,
			    "--unit does not take '%s'; allowed: auto, minimum, B, kB, MB, GB, TB, "
			    "PB, and ns, us, ms, s, mins, hrs for times",
			    unit);
}

static bool is_json(const request_t *r) {
	return given(r, "json") || mw_picture_is_json(r->picture);
}

static int check_json(const request_t *r, mw_error_t *error) {
	static const struct {
		const char *view, *same;
	} others[] = {{"callgrind", "graph --json --trim=false' has the same nodes and edges"},
		      {"collapsed", "traces --json' has the same stacks"},
		      {"proto", "raw --json' has the same"},
		      {"topproto", "top --json' has the same"}};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (is_json(r) && strcmp(r->view->name, others[i].view) == 0)
			return mw_error_set(error, "%s: there is no JSON of it; 'mallow %s",
					    r->view->name, others[i].same);
	return 0;
}

static bool takes_pattern(const mw_arguments_t *arguments) {
	return strncmp(arguments->subcommand->operands, "RE", 2) == 0;
}

/* Returns the pattern before the targets, for `list` and similar views; NULL = none. */
static const char *pattern_of(const mw_arguments_t *arguments) {
	return takes_pattern(arguments) && arguments->operand_count > 0 ? arguments->operands[0]
									: NULL;
}

static int check_patterns(const request_t *r, mw_error_t *error) {
	mw_selection_t selection;
	mw_pattern_t *pattern;
	mw_view_options_selection(r->arguments, &selection);
	if (mw_selection_check(&selection, error) != 0 ||
	    mw_pattern_make(r->view->name, pattern_of(r->arguments), &pattern, error) != 0)
		return -1;
	mw_pattern_free(pattern);
	return 0;
}

static int check_terminal(const request_t *r, mw_error_t *error) {
	bool is_profile = r->view->print == NULL || mw_picture_is_profile(r->picture);
	if (is_profile && r->path == NULL && mw_stdout_is_terminal())
		return mw_error_set(error, "a profile is nothing for a terminal; give --output "
					   "FILE.pb.gz");
	return 0;
}

/* True if the requested picture cannot apply the pattern, which chooses functions for a listing. */
static bool loses_pattern(const mw_arguments_t *arguments, const request_t *r) {
	bool has_other_view = strcmp(r->view->name, arguments->subcommand->name) != 0;
	return takes_pattern(arguments) && has_other_view && r->view->print != mw_view_weblist;
}

/* True for outputs without a text, which a file with any other name could hold. */
static bool is_picture(const request_t *r) {
	return r->view->print == mw_view_dot || r->view->print == mw_view_flame;
}

/* True if a name whose ending means nothing is accepted: the user asked for another tool's
 * format, or for an output of pprof or jeprof, so the content is clear. */
static bool may_have_any_name(const request_t *r) {
	static const char *const formats[] = {"proto", "topproto", "callgrind", "collapsed",
					      "speedscope"};
	const char *ending = strrchr(basename(r->path), '.');
	bool is_old = r->arguments->is_pprof || r->arguments->is_jeprof || r->arguments->is_shell;
	if (ending == NULL || (is_old && !is_picture(r)))
		return true;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(r->view->name, formats[i]) == 0)
			return true;
	return !is_picture(r) && strcmp(ending, ".txt") == 0;
}

static int check_format(const mw_arguments_t *arguments, const request_t *r, mw_error_t *error) {
	const char *format = mw_argument(arguments, "format")->text;
	const char *name = arguments->subcommand->name;
	if (loses_pattern(arguments, r))
		return mw_error_set(error,
				    "%s: it is no %s; allowed: .json, .html of list and weblist, "
				    ".txt; or 'mallow %s --focus=RE' for a picture",
				    name, r->view->name, r->view->name);
	if (format == NULL && r->picture == NULL && r->path != NULL && !may_have_any_name(r))
		return mw_error_set(error, "%s: %s writes %s%s", r->path, name,
				    takes_pattern(arguments)
					    ? ".json, .html of list and weblist"
					    : ".html, .svg, .png, .pdf, .ps, .gif, .dot, .folded, "
					      ".speedscope.json, .callgrind, .json, .pb.gz",
				    is_picture(r) ? "" : "; .txt is its text");
	if (format == NULL || r->picture != NULL)
		return 0;
	return mw_error_set(error,
			    "--format does not take '%s'; allowed: html, svg, png, pdf, ps, "
			    "gif, dot, folded, speedscope.json, callgrind, json, pb.gz",
			    format);
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
	if (result == 0 && r->path == NULL && r->picture == NULL)
		fwrite(text, 1, length, stdout);
	else if (result == 0)
		result = mw_picture_write(r->picture, r->path, text, length, error);
	free(text);
	return result;
}

static int write_profile(const request_t *r, const mw_profile_t *profile, mw_error_t *error) {
	const char *path = r->path;
	return mw_write_profile(profile, path,
				path != NULL ? mw_format_of_name(path) : MW_FORMAT_PROTO,
				r->arguments->is_pprof ? MW_GZIP_ON : MW_GZIP_BY_NAME, error);
}

/* Writes `proto` and `topproto`, which are profiles and no text. */
static int write_as_profile(const request_t *r, const mw_view_t *v, mw_error_t *error) {
	if (strcmp(r->view->name, "topproto") != 0)
		return write_profile(r, v->profile, error);
	mw_profile_t *top = mw_view_top_profile(v);
	int result = write_profile(r, top, error);
	mw_profile_free(top);
	return result;
}

static bool is_diff(const mw_arguments_t *arguments) {
	return strcmp(arguments->subcommand->name, "diff") == 0;
}

static void make_request(const mw_arguments_t *arguments, request_t *r) {
	*r = (request_t){.arguments = arguments,
			 .view = find_view(arguments->subcommand->name),
			 .path = mw_argument(arguments, "output")->text};
	if (r->view == NULL) /* `report` comes here with an output name that asks for a picture */
		r->view = find_view("top");
	if (r->path != NULL && strcmp(r->path, "-") == 0)
		r->path = NULL;
	const char *format = mw_argument(arguments, "format")->text;
	if (format != NULL)
		r->picture = mw_picture_of_format(format, r->view->name);
	else if (r->path != NULL)
		r->picture = mw_picture_find(r->path, r->view->name);
	const char *view = mw_picture_view(r->picture);
	if (view != NULL)
		r->view = find_view(view);
}

/* Checks whether the words of a command line fit together.  This needs no profile. */
static int check(const request_t *r, mw_error_t *error) {
	if (number(r, "divide-by", 1) <= 0)
		return mw_error_set(error,
				    "--divide-by does not take '%s'; allowed: a number above 0",
				    mw_argument(r->arguments, "divide-by")->text);
	bool good = check_format(r->arguments, r, error) == 0 &&
		    check_unit(mw_argument(r->arguments, "unit")->text, error) == 0 &&
		    check_json(r, error) == 0 && check_terminal(r, error) == 0 &&
		    check_patterns(r, error) == 0;
	return good ? 0 : -1;
}

/* Returns the number of words before the targets: a pattern, or the base of a difference. */
static unsigned words_before_targets(const mw_arguments_t *arguments) {
	bool is_since = is_diff(arguments) && mw_argument(arguments, "since")->given;
	return is_since ? 0 : arguments->subcommand->operands_min - 1;
}

int mw_view_inputs(const mw_arguments_t *arguments, mw_inputs_t *inputs, mw_error_t *error) {
	request_t r;
	make_request(arguments, &r);
	mw_load_take_options(arguments);
	mw_load_take_fetch_options(arguments);
	const mw_option_value_t *diff_bases = mw_argument(arguments, "diff-base");
	const mw_option_value_t *bases =
		diff_bases->given ? diff_bases : mw_argument(arguments, "base");
	unsigned before = words_before_targets(arguments);
	*inputs = (mw_inputs_t){
		.targets = (const char *const *)arguments->operands + before,
		.target_count = arguments->operand_count - before,
		.bases = bases->texts,
		.base_count = bases->text_count,
		.is_diff = diff_bases->given || is_diff(arguments),
		.normalize = given(&r, "normalize"),
		.comment = arguments->comment,
		.program = arguments->program,
		.detail = wants_labels(&r) ? MW_LOAD_SPLIT : MW_LOAD_STACKS,
	};
	if (is_diff(arguments) && before > 0) {
		inputs->bases = (const char *const *)arguments->operands;
		inputs->base_count = 1;
	}
	if (given(&r, "base") && inputs->is_diff)
		return mw_error_set(error,
				    "--base and a diff do not go together: percentages are of one "
				    "thing; leave one out");
	return check(&r, error) == 0 ? mw_moments_take(arguments, inputs, error) : -1;
}

/* Computes the interval of the selection.  In a difference both sides are estimates. */
static void find_interval(mw_view_t *v) {
	const mw_profile_t *p = v->profile;
	bool is_bytes = strcmp(mw_profile_string(p, p->types[v->type].unit), "bytes") == 0;
	mw_interval_types_t types;
	mw_spread_t spread = {0};
	if (p->period <= 1 || !mw_interval_types_find(p, v->type, &types))
		return;
	for (size_t i = 0; i < p->sample_count; i++) {
		const int64_t *values = mw_profile_values(p, i);
		mw_spread_add(&spread, fabs((double)values[types.samples]),
			      fabs((double)values[types.objects]), fabs((double)values[v->type]),
			      (double)p->period, is_bytes);
	}
	if (v->base != NULL) {
		v->chance = MW_INTERVAL_QUANTILE * sqrt(spread.variance);
		return;
	}
	mw_interval_t range = mw_interval_of(mw_profile_total(p, v->type), &spread);
	v->low = range.low;
	v->high = range.high;
}

/* Returns "a.pb.gz", or "a.pb.gz and 2 others"; NULL = nothing is subtracted. */
static char *name_of_base(const mw_arguments_t *arguments) {
	const mw_option_value_t *diff_bases = mw_argument(arguments, "diff-base");
	const mw_option_value_t *bases =
		diff_bases->given ? diff_bases : mw_argument(arguments, "base");
	size_t count = is_diff(arguments) ? 1 : bases->text_count;
	char *name = NULL;
	if (mw_argument(arguments, "since")->given)
		return mw_moments_base();
	if (count > 0) {
		const char *first = is_diff(arguments) ? arguments->operands[0] : bases->texts[0];
		const char *others = count > 2 ? "others" : "other";
		if (asprintf(&name, count > 1 ? "%s and %zu %s" : "%s", first, count - 1, others) <
		    0)
			name = NULL;
	}
	return name;
}

int mw_view_show(const mw_arguments_t *arguments, mw_profile_t *profile, size_t base_first,
		 mw_error_t *error) {
	request_t request, *r = &request;
	make_request(arguments, r);
	const mw_symbolize_options_t symbols = mw_load_symbol_places();
	mw_view_t v = {
		.name = r->view->name,
		.symbols = &symbols,
		.syntax = mw_view_options_syntax(arguments),
		.profile = profile,
		.unit = mw_argument(arguments, "unit")->text,
		.ratio = 1 / number(r, "divide-by", 1),
		.target = arguments->operands[words_before_targets(arguments)],
		.pattern = arguments->subcommand->operands_min == 2 ? arguments->operands[0] : NULL,
		.source_path = mw_argument(arguments, "source-path")->text,
		.columns = r->path == NULL ? mw_terminal_columns(stdout) : 0,
		.is_jeprof = arguments->is_jeprof,
		.is_pprof = arguments->is_pprof,
		.json = is_json(r),
		.svg = mw_picture_is_svg(r->picture),
	};
	if (check(r, error) != 0 || select_and_sum(r, profile, base_first, &v, error) != 0)
		return -1;
	set_graph_options(r, &v);
	if (r->view->print == NULL)
		return write_as_profile(r, &v, error);
	/* jeprof's `raw` is a profile with names; pprof's is a text. */
	if (r->view->print == mw_view_raw && arguments->is_jeprof)
		return mw_write_profile(profile, r->path, MW_FORMAT_SYMBOLIZED, MW_GZIP_BY_NAME,
					error);
	if (mw_picture_is_profile(r->picture))
		return write_profile(r, profile, error);
	char *filters = mw_view_options_filters(arguments), *base = name_of_base(arguments);
	v.filters = filters;
	v.base = base;
	find_interval(&v);
	int result = print_text(r, &v, error);
	free(filters);
	free(base);
	return result;
}

static int load_and_show(const mw_arguments_t *arguments, mw_error_t *error) {
	mw_inputs_t inputs;
	mw_profile_t *profile;
	size_t base_first;
	if (mw_view_inputs(arguments, &inputs, error) != 0 ||
	    mw_inputs_load(&inputs, &profile, &base_first, error) != 0)
		return -1;
	int result = mw_view_show(arguments, profile, base_first, error);
	mw_profile_free(profile);
	return result;
}

int mw_cmd_view(const mw_arguments_t *arguments) {
	if (arguments->subcommand->instead != NULL &&
	    mw_argument(arguments, arguments->subcommand->instead)->given)
		return mw_cmd_live_top_all(arguments);
	if (mw_live_top_is_wanted(arguments))
		return mw_cmd_live_top(arguments);
	request_t r;
	mw_error_t error;
	make_request(arguments, &r);
	bool is_page = r.view->print == mw_view_flame || r.view->print == mw_view_weblist;
	if (is_page && r.path == NULL && !given(&r, "json") && mw_stdout_is_terminal()) {
		mw_complain("%s: a web page is nothing for a terminal; give --output FILE.html",
			    r.view->name);
		return MW_EXIT_TROUBLE;
	}
	if (r.path == NULL)
		mw_pager_begin(arguments);
	if (load_and_show(arguments, &error) == 0)
		return MW_EXIT_FINE;
	mw_complain("%s", error.text);
	return MW_EXIT_TROUBLE;
}
