/* SPDX-License-Identifier: MIT
 * view_request.c -- finds the view and the picture that a command line requests, and checks its
 * words. */
#include "cmd/profile/view_request.h"

#include <string.h>

#include "cli/terminal.h"
#include "cmd/profile/view_options.h"
#include "view/code/listings.h"
#include "view/picture/pictures.h"
#include "view/select/pattern.h"
#include "view/table/tables.h"

typedef mw_view_request_t request_t;

static const mw_view_row_t views[] = {
#define MW_VIEW(name, operands, min, max, print, flags, type, ...) {#name, print, flags, type},
#define MW_VIEW_LIVE MW_VIEW
#define MW_VIEW_DIFF MW_VIEW
#include "cmd/profile/views.def"
#undef MW_VIEW_DIFF
#undef MW_VIEW_LIVE
#undef MW_VIEW
};

static const mw_view_row_t *find_view(const char *name) {
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
		if (strcmp(views[i].name, name) == 0)
			return &views[i];
	return NULL;
}

double mw_view_request_number(const mw_fraction_value_t *value, double standard) {
	return value->given ? value->fraction : standard;
}

bool mw_view_request_is_diff(const mw_arguments_t *arguments) {
	return strcmp(arguments->subcommand->name, "diff") == 0;
}

/* True if the ending of the output's name chooses the view.  pprof and jeprof write the view that
 * an option names, a table for -text, into a file of any name. */
static bool ending_counts(const request_t *r) {
	return r->path != NULL && (!(r->arguments->is_pprof || r->arguments->is_jeprof) ||
				   mw_view_request_has(r, MW_VIEW_PICTURE));
}

void mw_view_request_make(const mw_arguments_t *arguments, request_t *r) {
	*r = (request_t){.arguments = arguments,
			 .view = find_view(arguments->subcommand->name),
			 .path = arguments->options.output.text};
	if (r->view == NULL) /* `report` comes here with an output name that asks for a picture */
		r->view = find_view("top");
	if (r->path != NULL && strcmp(r->path, "-") == 0)
		r->path = NULL;
	const char *format = arguments->options.format.text;
	if (format != NULL)
		r->picture = mw_picture_of_format(format, r->view->name);
	else if (ending_counts(r))
		r->picture = mw_picture_find(r->path, r->view->name);
	const char *view = mw_picture_view(r->picture);
	if (view != NULL)
		r->view = find_view(view);
}

unsigned mw_view_request_words(const mw_arguments_t *arguments) {
	bool is_since = mw_view_request_is_diff(arguments) && arguments->options.since.given;
	return is_since ? 0 : arguments->subcommand->operands_min - 1;
}

static int check_unit(const char *unit, mw_error_t *error) {
	if (unit == NULL || mw_view_knows_unit(unit))
		return 0;
	return mw_error_set(error,
			    "--unit does not take '%s'; allowed: auto, minimum, B, kB, MB, GB, TB, "
			    "PB, and ns, us, ms, s, mins, hrs for times",
			    unit);
}

bool mw_view_request_is_json(const request_t *r) {
	return r->arguments->options.json.given || mw_picture_is_json(r->picture);
}

static int check_json(const request_t *r, mw_error_t *error) {
	static const struct {
		const char *view, *same;
	} others[] = {{"callgrind", "graph --json --trim=false' has the same nodes and edges"},
		      {"collapsed", "traces --json' has the same stacks"},
		      {"proto", "raw --json' has the same data"},
		      {"topproto", "top --json' has the same data"}};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (mw_view_request_is_json(r) && strcmp(r->view->name, others[i].view) == 0)
			return mw_error_set(error, "%s has no JSON form; 'mallow %s", r->view->name,
					    others[i].same);
	return 0;
}

static bool takes_pattern(const mw_arguments_t *arguments) {
	return strncmp(arguments->subcommand->operands, "RE", 2) == 0;
}

const char *mw_view_request_pattern(const mw_arguments_t *arguments) {
	return takes_pattern(arguments) && arguments->operand_count > 0 ? arguments->operands[0]
									: NULL;
}

static int check_patterns(const request_t *r, mw_error_t *error) {
	mw_selection_t selection;
	mw_pattern_t *pattern;
	mw_view_options_selection(r->arguments, &selection);
	if (mw_selection_check(&selection, error) != 0 ||
	    mw_pattern_make(r->view->name, mw_view_request_pattern(r->arguments), &pattern,
			    error) != 0)
		return -1;
	mw_pattern_free(pattern);
	return 0;
}

static int check_terminal(const request_t *r, mw_error_t *error) {
	bool is_profile =
		mw_view_request_has(r, MW_VIEW_PROFILE) || mw_picture_is_profile(r->picture);
	if (is_profile && r->path == NULL && mw_stdout_is_terminal())
		return mw_error_set(error, "a binary profile cannot be written to a terminal; give "
					   "--output FILE.pb.gz");
	return 0;
}

/* True if the requested picture cannot apply the pattern, which chooses functions for a listing. */
static bool loses_pattern(const mw_arguments_t *arguments, const request_t *r) {
	bool has_other_view = strcmp(r->view->name, arguments->subcommand->name) != 0;
	return takes_pattern(arguments) && has_other_view &&
	       !mw_view_request_has(r, MW_VIEW_PATTERN);
}

/* True if a name whose ending means nothing is accepted: the user asked for another tool's
 * format, or for an output of pprof or jeprof, so the content is clear. */
static bool may_have_any_name(const request_t *r) {
	static const char *const formats[] = {"proto", "topproto", "callgrind", "collapsed",
					      "speedscope"};
	const char *ending = strrchr(basename(r->path), '.');
	bool is_old = r->arguments->is_pprof || r->arguments->is_jeprof || r->arguments->is_shell;
	if (ending == NULL || (is_old && !mw_view_request_has(r, MW_VIEW_PICTURE)))
		return true;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(r->view->name, formats[i]) == 0)
			return true;
	return !mw_view_request_has(r, MW_VIEW_PICTURE) && strcmp(ending, ".txt") == 0;
}

static int check_format(const mw_arguments_t *arguments, const request_t *r, mw_error_t *error) {
	const char *format = arguments->options.format.text;
	const char *name = arguments->subcommand->name;
	if (loses_pattern(arguments, r))
		return mw_error_set(
			error,
			"%s cannot be written as a %s; allowed: .json, .html of list and "
			"weblist, .txt; or 'mallow %s --focus=RE' for a picture",
			name, r->view->name, r->view->name);
	if (format == NULL && r->picture == NULL && r->path != NULL && !may_have_any_name(r))
		return mw_error_set(error, "%s: %s does not write this kind of file; allowed: %s%s",
				    r->path, name,
				    takes_pattern(arguments)
					    ? ".json, .html of list and weblist"
					    : ".html, .svg, .png, .pdf, .ps, .gif, .dot, .folded, "
					      ".speedscope.json, .callgrind, .json, .pb.gz",
				    mw_view_request_has(r, MW_VIEW_PICTURE) ? "" : ", .txt");
	if (format == NULL || r->picture != NULL)
		return 0;
	return mw_error_set(error,
			    "--format does not take '%s'; allowed: html, svg, png, pdf, ps, "
			    "gif, dot, folded, speedscope.json, callgrind, json, pb.gz",
			    format);
}

int mw_view_request_check(const request_t *r, mw_error_t *error) {
	if (mw_view_request_number(&r->arguments->options.divide_by, 1) <= 0)
		return mw_error_set(error,
				    "--divide-by does not take '%s'; allowed: a number above 0",
				    r->arguments->options.divide_by.text);
	bool good = check_format(r->arguments, r, error) == 0 &&
		    check_unit(r->arguments->options.unit.text, error) == 0 &&
		    check_json(r, error) == 0 && check_terminal(r, error) == 0 &&
		    check_patterns(r, error) == 0;
	return good ? 0 : -1;
}
