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
#include "cmd/marks/moments.h"
#include "cmd/profile/output_file.h"
#include "cmd/profile/profile_commands.h"
#include "cmd/profile/view.h"
#include "cmd/profile/view_options.h"
#include "cmd/profile/view_request.h"
#include "formats/file/output.h"
#include "model/memory.h"
#include "model/merge.h"
#include "report/interval.h"
#include "report/text/types.h"
#include "view/code/listings.h"
#include "view/common/view.h"
#include "view/picture/pictures.h"
#include "view/select/tags.h"
#include "view/select/wrappers.h"
#include "view/table/tables.h"

/* Most nodes by default, as in pprof.  A larger picture or tree is hard to read. */
#define DEFAULT_NODES 80
#define DEFAULT_NODE_FRACTION 0.005
#define DEFAULT_EDGE_FRACTION 0.001

typedef mw_view_request_t request_t;

static bool is_report(const request_t *r) {
	return strcmp(r->arguments->subcommand->name, "report") == 0;
}

static bool wants_labels(const request_t *r) {
	return mw_view_request_has(r, MW_VIEW_LABELS) || r->arguments->options.ages.given ||
	       mw_view_options_need_labels(r->arguments);
}

/* `report` has its own names for both options. */
static bool is_all_wanted(const request_t *r) {
	const mw_flag_value_t *trim = &r->arguments->options.trim;
	return mw_view_request_has(r, MW_VIEW_WHOLE) || (trim->given && trim->is_off) ||
	       (is_report(r) && r->arguments->options.all.given);
}

static size_t wanted_rows(const request_t *r) {
	if (r->arguments->options.top.given)
		return (size_t)r->arguments->options.top.number;
	if (r->arguments->options.nodecount.given)
		return (size_t)r->arguments->options.nodecount.number;
	return mw_view_request_has(r, MW_VIEW_TABLE) ? 0 : DEFAULT_NODES;
}

static void set_graph_options(const request_t *r, mw_view_t *v) {
	v->graph = (mw_graph_options_t){
		.type = v->type,
		.granularity = mw_view_options_granularity(r->arguments),
		.sort_by_cum = r->arguments->options.cum.given,
		.drop_negative = r->arguments->options.drop_negative.given,
		.is_mean = mw_view_options_is_mean(r->arguments),
	};
	if (r->arguments->options.top.given || r->arguments->options.nodecount.given)
		v->frame_limit = wanted_rows(r);
	if (r->arguments->options.top.given)
		v->stack_limit = (size_t)r->arguments->options.top.number;
	v->has_ages = r->arguments->options.ages.given;
	v->has_births = r->arguments->options.births.given;
	bool is_graph = mw_view_request_has(r, MW_VIEW_GRAPH);
	v->graph.is_picture = is_graph;
	v->graph.is_drawn = mw_picture_is_drawn(r->picture);
	v->graph.call_tree = is_graph && r->arguments->options.call_tree.given;
	if (is_all_wanted(r))
		return;
	v->graph.node_count = wanted_rows(r);
	v->graph.node_fraction =
		mw_view_request_number(&r->arguments->options.nodefraction, DEFAULT_NODE_FRACTION);
	v->graph.edge_fraction =
		mw_view_request_number(&r->arguments->options.edgefraction, DEFAULT_EDGE_FRACTION);
	v->graph.max_degree = (size_t)r->arguments->options.maxdegree.number;
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
	/* A profile of allocations without frees has types of memory in use only. */
	char live[64];
	if (p->origin.alloc_is_inuse && name != NULL && strncmp(name, "alloc_", 6) == 0 &&
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
static size_t find_instead(const mw_profile_t *p, size_t type, bool by_sample, int64_t *sum) {
	int peak = mw_profile_find_type(p, "peak_space");
	*sum = peak >= 0 && !by_sample ? mw_profile_total(p, (size_t)peak) : 0;
	return *sum > 0 ? (size_t)peak : mw_report_largest_type(p, type, sum);
}

/* Allocations are not kept by thread: `mallow threads` shows that nothing is in use. */
static bool lacks_threads(const mw_arguments_t *arguments, const mw_profile_t *p, size_t type) {
	if (strcmp(arguments->subcommand->name, "threads") != 0)
		return false;
	for (size_t i = 0; i < p->sample_count; i++)
		if (mw_profile_values(p, i)[type] != 0 &&
		    mw_profile_label(p, i, MW_LABEL_THREAD_ID) != NULL)
			return false;
	return true;
}

void mw_view_choose_type(const mw_arguments_t *arguments, const mw_profile_t *p, bool by_sample,
			 size_t *type) {
	int64_t sum;
	char value[MW_SHOW_BYTES];
	bool is_old = arguments->is_pprof || arguments->is_jeprof || arguments->is_shell;
	if (is_old || mw_view_options_type(arguments) != NULL || arguments->options.base.given ||
	    arguments->options.diff_base.given ||
	    strcmp(arguments->subcommand->name, "diff") == 0 || !mw_report_is_empty(p, *type))
		return;
	const char *empty = mw_profile_string(p, p->types[*type].type);
	size_t other = find_instead(p, *type, by_sample, &sum);
	if (sum == 0 || lacks_threads(arguments, p, other))
		return;
	const char *shown = mw_profile_string(p, p->types[other].type);
	mw_complain("note: %s is 0, so this shows %s, %s: %s; --sample-type chooses", empty,
		    strncmp(shown, "peak_", 5) == 0    ? "the peak"
		    : strncmp(shown, "alloc_", 6) == 0 ? "all that was allocated"
						       : "the largest",
		    shown, mw_report_value(p, other, sum, value, sizeof(value)));
	*type = other;
}

/* Whether the type has values of samples with threads, or none has. */
static bool knows_threads(const mw_profile_t *p, size_t type, char *types, size_t size) {
	char one[64];
	mw_tag_types(p, MW_LABEL_THREAD, types, size);
	snprintf(one, sizeof(one), "%.60s", mw_profile_string(p, p->types[type].type));
	const char *found = strstr(types, one);
	bool is_word = found != NULL && (found == types || found[-1] == ' ') &&
		       (found[strlen(one)] == '\0' || found[strlen(one)] == ',');
	return *types == '\0' || is_word;
}

int mw_view_check_thread(const mw_arguments_t *arguments, const mw_profile_t *p, size_t type,
			 mw_error_t *error) {
	char others[300], wanted[64];
	const char *thread = arguments->options.thread.text;
	/* In jeprof a thread without samples is an empty profile. */
	if (thread == NULL || arguments->is_jeprof || p->sample_count == 0)
		return 0;
	if (!knows_threads(p, type, others, sizeof(others)))
		return mw_error_set(error, "--thread: %s is not stored by thread; these are: %s",
				    mw_profile_string(p, p->types[type].type), others);
	if (mw_selection_knows_thread(p, thread, others, sizeof(others)))
		return 0;
	mw_show_text(thread, wanted, sizeof(wanted));
	if (*others == '\0')
		return mw_error_set(error,
				    "no sample belongs to a thread '%s': this profile does not "
				    "store threads",
				    wanted);
	return mw_error_set(error, "no sample belongs to a thread '%s'; the threads are: %s",
			    wanted, others);
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

/* True for formats of other tools, and for the command lines of pprof and jeprof. */
static bool is_for_others(const request_t *r) {
	bool is_old = r->arguments->is_pprof || r->arguments->is_jeprof || r->arguments->is_shell;
	return is_old || mw_picture_is_profile(r->picture) ||
	       mw_view_request_has(r, MW_VIEW_PROFILE);
}

/* True if frames are left out of stacks. */
static bool leaves_frames_out(const request_t *r) {
	return !is_for_others(r) && mw_view_request_has(r, MW_VIEW_FUNCTIONS | MW_VIEW_LISTING);
}

/* Leaves out wrappers and interpreters' own frames.  A flame graph shows functions of libraries as
 * callees of the program's.  A listing of chosen functions shows what these call, whatever they
 * are. */
static int leave_frames_out(const request_t *r, mw_profile_t *p, mw_error_t *error) {
	bool is_flame = mw_view_request_has(r, MW_VIEW_BOTH_KINDS);
	mw_pattern_t *kept = NULL;
	const char *pattern = mw_view_request_pattern(r->arguments);
	if (mw_view_request_has(r, MW_VIEW_LISTING) &&
	    mw_pattern_make(r->view->name, pattern, &kept, error) != 0)
		return -1;
	if (!r->arguments->options.wrappers.given)
		mw_wrappers_cut(p, is_flame ? MW_WRAPPERS_OF_MALLOC : MW_WRAPPERS_ALL, kept);
	if (!r->arguments->options.native.given)
		mw_interpreters_fold(p, kept);
	mw_pattern_free(kept);
	return 0;
}

/* The processor on which a sample was taken says little, and divides stacks into many. */
static int merge_processors(const request_t *r, mw_profile_t *p, mw_error_t *error) {
	const mw_arguments_t *a = r->arguments;
	if (!mw_view_request_has(r, MW_VIEW_STACKS) || a->is_pprof || a->options.json.given ||
	    a->options.tagshow.given || a->options.taghide.given || a->options.tagfocus.given)
		return 0;
	if (mw_tags_keep(p, NULL, "^" MW_LABEL_PROCESSOR "$", error) != 0)
		return -1;
	mw_profile_combine(p);
	return 0;
}

/* Totals are computed before the selection, so that percentages refer to the whole profile,
 * unless the user asks otherwise. */
static int select_and_sum(const request_t *r, mw_profile_t *p, size_t base_first, mw_view_t *v,
			  mw_error_t *error) {
	mw_selection_t selection;
	mw_view_options_selection(r->arguments, &selection);
	/* Traces have lines of their own for places. */
	if (leaves_frames_out(r) ||
	    (!is_for_others(r) && mw_view_request_pattern(r->arguments) != NULL))
		mw_script_places_add(p);
	if (find_type(r, p, &v->type, error) != 0)
		return -1;
	if (r->view->type == NULL)
		mw_view_choose_type(r->arguments, p, mw_view_request_has(r, MW_VIEW_LABELS),
				    &v->type);
	if (mw_view_check_thread(r->arguments, p, v->type, error) != 0)
		return -1;
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
	if (r->arguments->options.relative_percentages.given)
		v->total = whole_of(r, p, v->type, base_first);
	if (merge_processors(r, p, error) != 0)
		return -1;
	return leaves_frames_out(r) ? leave_frames_out(r, p, error) : 0;
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
	if (!mw_view_request_has(r, MW_VIEW_SUMMED))
		return write_profile(r, v->profile, error);
	mw_profile_t *top = mw_view_top_profile(v);
	int result = write_profile(r, top, error);
	mw_profile_free(top);
	return result;
}

/* True if code without symbols gets the names of its ranges.  pprof, jeprof and readers of profiles
 * have ways of their own to show it. */
static bool names_ranges(const request_t *r) {
	bool is_old = r->arguments->is_pprof || r->arguments->is_jeprof || r->arguments->is_shell;
	return !is_old && !mw_picture_is_profile(r->picture) &&
	       !mw_view_request_has(r, MW_VIEW_PROFILE | MW_VIEW_RAW);
}

int mw_view_inputs(const mw_arguments_t *arguments, mw_inputs_t *inputs, mw_error_t *error) {
	request_t r;
	mw_view_request_make(arguments, &r);
	mw_load_take_options(arguments);
	mw_load_take_fetch_options(arguments);
	if (r.arguments->options.births.given)
		mw_load_keep_times();
	if (names_ranges(&r))
		mw_load_name_ranges();
	if (r.arguments->options.cpu.given)
		mw_load_choose_cpu();
	else if (mw_view_request_has(&r, MW_VIEW_BOTH_KINDS) && !mw_view_request_is_json(&r))
		mw_load_add_cpu(); /* the page switches between both */
	const mw_list_value_t *diff_bases = &arguments->options.diff_base;
	const mw_list_value_t *bases = diff_bases->given ? diff_bases : &arguments->options.base;
	unsigned before = mw_view_request_words(arguments);
	*inputs = (mw_inputs_t){
		.targets = (const char *const *)arguments->operands + before,
		.target_count = arguments->operand_count - before,
		.bases = bases->texts,
		.base_count = bases->text_count,
		.is_diff = diff_bases->given || mw_view_request_is_diff(arguments),
		.normalize = r.arguments->options.normalize.given,
		.comment = arguments->comment,
		.program = arguments->program,
		.detail = wants_labels(&r) ? MW_LOAD_SPLIT : MW_LOAD_STACKS,
	};
	if (mw_view_request_is_diff(arguments) && before > 0) {
		inputs->bases = (const char *const *)arguments->operands;
		inputs->base_count = 1;
	}
	if (r.arguments->options.base.given && inputs->is_diff)
		return mw_error_set(error, "--base and a diff cannot be combined: percentages have "
					   "one base; leave one out");
	return mw_view_request_check(&r, error) == 0 ? mw_moments_take(arguments, inputs, error)
						     : -1;
}

/* Computes the variance of each sample, and the interval of the selection.  In a difference both
 * sides are estimates. */
static void find_interval(mw_view_t *v) {
	const mw_profile_t *p = v->profile;
	bool is_bytes = strcmp(mw_profile_string(p, p->types[v->type].unit), "bytes") == 0;
	mw_interval_types_t types;
	mw_spread_t spread = {0};
	if (p->period <= 1 || !mw_interval_types_find(p, v->type, &types))
		return;
	v->variances = mw_xcalloc(p->sample_count + 1, sizeof(*v->variances));
	v->graph.variances = v->variances;
	for (size_t i = 0; i < p->sample_count; i++) {
		const int64_t *values = mw_profile_values(p, i);
		mw_spread_t one = {0};
		mw_spread_add(&one, fabs((double)values[types.samples]),
			      fabs((double)values[types.objects]), fabs((double)values[v->type]),
			      (double)p->period, is_bytes);
		mw_spread_merge(&spread, &one);
		v->variances[i] = one.variance;
	}
	if (v->base != NULL) {
		v->sampling_error = MW_INTERVAL_QUANTILE * sqrt(spread.variance);
		return;
	}
	mw_interval_t range = mw_interval_of(mw_profile_total(p, v->type), &spread);
	v->low = range.low;
	v->high = range.high;
}

/* Returns "a.pb.gz", or "a.pb.gz and 2 others"; NULL = nothing is subtracted. */
static char *name_of_base(const mw_arguments_t *arguments) {
	const mw_list_value_t *diff_bases = &arguments->options.diff_base;
	const mw_list_value_t *bases = diff_bases->given ? diff_bases : &arguments->options.base;
	size_t count = mw_view_request_is_diff(arguments) ? 1 : bases->text_count;
	char *name = NULL;
	if (arguments->options.since.given)
		return mw_moments_base();
	if (count > 0) {
		const char *first = mw_view_request_is_diff(arguments) ? arguments->operands[0]
								       : bases->texts[0];
		const char *others = count > 2 ? "others" : "other";
		if (asprintf(&name, count > 1 ? "%s and %zu %s" : "%s", first, count - 1, others) <
		    0)
			name = NULL;
	}
	return name;
}

/* Fills in everything that a view needs but its output. */
static int prepare(const request_t *r, mw_profile_t *profile, size_t base_first, mw_view_t *v,
		   mw_error_t *error) {
	const mw_arguments_t *arguments = r->arguments;
	*v = (mw_view_t){
		.name = r->view->name,
		.syntax = mw_view_options_syntax(arguments),
		.profile = profile,
		.unit = arguments->options.unit.text,
		.ratio = 1 / mw_view_request_number(&r->arguments->options.divide_by, 1),
		.target = arguments->operands[mw_view_request_words(arguments)],
		.pattern = mw_view_request_pattern(arguments),
		.source_path = arguments->options.source_path.text,
		.columns = r->path == NULL ? mw_terminal_columns(stdout) : 0,
		.is_jeprof = arguments->is_jeprof,
		.is_pprof = arguments->is_pprof,
		.json = mw_view_request_is_json(r),
		.svg = mw_picture_is_svg(r->picture),
	};
	if (names_ranges(r))
		mw_profile_name_ranges(profile);
	if (mw_view_request_check(r, error) != 0 ||
	    select_and_sum(r, profile, base_first, v, error) != 0)
		return -1;
	set_graph_options(r, v);
	v->filters = mw_view_options_filters(arguments);
	v->base = name_of_base(arguments);
	find_interval(v);
	return 0;
}

void mw_view_release(mw_view_t *v) {
	free(v->filters);
	free(v->base);
	free(v->variances);
	*v = (mw_view_t){0};
}

int mw_view_load(const mw_arguments_t *arguments, mw_profile_t **profile, mw_view_t *v,
		 mw_error_t *error) {
	request_t r;
	mw_inputs_t inputs;
	size_t base_first;
	mw_view_request_make(arguments, &r);
	*profile = NULL;
	if (mw_view_inputs(arguments, &inputs, error) != 0 ||
	    mw_inputs_load(&inputs, profile, &base_first, error) != 0)
		return -1;
	return prepare(&r, *profile, base_first, v, error);
}

int mw_view_print(const mw_arguments_t *arguments, const mw_view_t *v, mw_error_t *error) {
	request_t r;
	mw_view_request_make(arguments, &r);
	return print_text(&r, v, error);
}

/* Writes what the command line asks for: a profile, or the view's text. */
static int write_out(const request_t *r, mw_profile_t *profile, const mw_view_t *v,
		     mw_error_t *error) {
	if (mw_view_request_has(r, MW_VIEW_PROFILE))
		return write_as_profile(r, v, error);
	/* jeprof's `raw` is a profile with names; pprof's is a text. */
	if (mw_view_request_has(r, MW_VIEW_RAW) && r->arguments->is_jeprof)
		return mw_write_profile(profile, r->path, MW_FORMAT_SYMBOLIZED, MW_GZIP_BY_NAME,
					error);
	if (mw_picture_is_profile(r->picture))
		return write_profile(r, profile, error);
	return print_text(r, v, error);
}

int mw_view_show(const mw_arguments_t *arguments, mw_profile_t *profile, size_t base_first,
		 mw_error_t *error) {
	request_t r;
	mw_view_t v;
	const mw_symbolize_options_t symbols = mw_load_symbol_places();
	mw_view_request_make(arguments, &r);
	int result = prepare(&r, profile, base_first, &v, error);
	v.symbols = &symbols;
	if (result == 0)
		result = write_out(&r, profile, &v, error);
	mw_view_release(&v);
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

/* `diff` of two profiles or moments is a view like others. */
static int show(const mw_arguments_t *arguments, mw_error_t *error) {
	bool is_series = mw_view_request_is_diff(arguments) && arguments->operand_count > 2;
	return is_series ? mw_profile_series_show(arguments, error)
			 : load_and_show(arguments, error);
}

int mw_cmd_view(const mw_arguments_t *arguments) {
	if (arguments->subcommand->instead != NULL &&
	    mw_argument(arguments, arguments->subcommand->instead)->given)
		return mw_cmd_live_top_all(arguments);
	if (mw_live_top_is_wanted(arguments))
		return mw_cmd_live_top(arguments);
	request_t r;
	mw_error_t error;
	mw_view_request_make(arguments, &r);
	bool is_page = mw_view_request_has(&r, MW_VIEW_PAGE);
	if (is_page && r.path == NULL && !r.arguments->options.json.given &&
	    mw_stdout_is_terminal()) {
		mw_complain(
			"%s: a web page cannot be written to a terminal; give --output FILE.html",
			r.view->name);
		return MW_EXIT_TROUBLE;
	}
	if (r.path == NULL)
		mw_pager_begin(arguments);
	if (show(arguments, &error) == 0)
		return MW_EXIT_FINE;
	mw_complain("%s", error.text);
	return MW_EXIT_TROUBLE;
}
