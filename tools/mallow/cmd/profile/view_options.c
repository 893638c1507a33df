/* SPDX-License-Identifier: MIT
 * view_options.c -- the table of the views' options, and functions that read them. */
#include "cmd/profile/view_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/pager.h"
#include "cmd/input/load.h"
#include "model/memory.h"

#define SWITCH(name, help)                                                                         \
	{ name, 0, MW_OPTION_SWITCH, NULL, NULL, help }
#define TEXT(name, value, help)                                                                    \
	{ name, 0, MW_OPTION_TEXT, value, NULL, help }
/* An option with a free text for which completions offer `choices`. */
#define CHOICES(name, value, choices, help)                                                        \
	{ name, 0, MW_OPTION_TEXT, value, choices, help }
#define SAMPLE_TYPES                                                                               \
	"inuse_space|inuse_objects|inuse_requested|alloc_space|alloc_objects|alloc_requested|"     \
	"peak_space|peak_objects|freed_objects|freed_elsewhere|temporary_objects|lifetime|"        \
	"pinned_space|inuse_mapped|inuse_mappings|alloc_mapped|alloc_mappings"

/* Rows of options that change tables and pictures of views, but not the table of `report`. */
#define VIEW_SWITCH(name, help)                                                                    \
	{ name, 0, MW_OPTION_SWITCH | MW_OPTION_OF_VIEWS, NULL, NULL, help }
#define VIEW_LIST(name, value, help)                                                               \
	{ name, 0, MW_OPTION_LIST | MW_OPTION_OF_VIEWS, value, NULL, help }
#define VIEW_NUMBER(name, help)                                                                    \
	{ name, 0, MW_OPTION_FRACTION | MW_OPTION_OF_VIEWS, "NUMBER", NULL, help }
#define VIEW_CHOICES(name, value, choices, help)                                                   \
	{ name, 0, MW_OPTION_TEXT | MW_OPTION_OF_VIEWS, value, choices, help }

/* Options that choose stacks and frames, the same in each subcommand that reads profiles. */
#define SELECTION_ROWS                                                                             \
	TEXT("focus", "RE", "only stacks with a frame that matches (function, file or module)"),   \
		TEXT("ignore", "RE", "only stacks without a frame that matches"),                  \
		TEXT("hide", "RE", "leave out frames that match"),                                 \
		TEXT("show", "RE", "leave out frames that do not match"),                          \
		TEXT("show-from", "RE", "begin each stack at the outermost frame that matches"),   \
		TEXT("prune-from", "RE", "leave out all callees of functions that match"),         \
		TEXT("tagfocus", "TAG",                                                            \
		     "only samples with this label: 'thread=main', '64kb:1mb'"),                   \
		TEXT("tagignore", "TAG", "only samples without this label"),                       \
		TEXT("tagshow", "RE", "leave out labels whose key does not match"),                \
		TEXT("taghide", "RE", "leave out labels whose key matches"),                       \
		TEXT("tagroot", "KEYS",                                                            \
		     "add the values of these labels as outermost frames: 'thread'"),              \
		TEXT("tagleaf", "KEYS",                                                            \
		     "add the values of these labels as innermost frames: 'bytes'"),               \
		TEXT("retain", "RE", "leave out functions that do not match"),                     \
		TEXT("exclude", "RE", "leave out functions that match"),                           \
		TEXT("thread", "ID", "only what this thread allocated; ID is its id or its name")

const mw_option_t mw_selection_options[] = {
	SELECTION_ROWS,
	{NULL, 0, MW_OPTION_FLAG, NULL, NULL, NULL},
};

const char *const mw_selection_common_options[] = {"focus", "ignore", "thread", NULL};

const char *const mw_view_common_options[] = {"sample-type", "focus", "ignore", "thread",
					      "lines",       "cum",   "top",    "base",
					      "output",      "json",  NULL};

const mw_option_t mw_view_options[] = {
	SELECTION_ROWS,
	{"cpu", 0, MW_OPTION_FLAG, NULL, NULL,
	 "of a live process or a state file: CPU time, which 'mallow start --cpu' and 'mallow run "
	 "--cpu' sample, not memory; sample types cpu and samples"},
	CHOICES("sample-index", "TYPE", SAMPLE_TYPES, "the sample type, by its name or its number"),
	CHOICES("sample-type", "TYPE", SAMPLE_TYPES,
		"inuse_space (default), inuse_objects, inuse_requested, alloc_space, "
		"alloc_objects, "
		"alloc_requested, peak_space, peak_objects, freed_objects, freed_elsewhere, "
		"temporary_objects, lifetime, pinned_space, inuse_mapped, inuse_mappings, "
		"alloc_mapped or alloc_mappings"),
	SWITCH("inuse-space", "the same as --sample-type inuse_space"),
	SWITCH("inuse-objects", "the same as --sample-type inuse_objects"),
	SWITCH("alloc-space", "the same as --sample-type alloc_space"),
	SWITCH("alloc-objects", "the same as --sample-type alloc_objects"),
	SWITCH("peak-space", "the same as --sample-type peak_space"),
	SWITCH("peak-objects", "the same as --sample-type peak_objects"),
	SWITCH("contentions", "contention profiles: number of waits (--sample-type contentions)"),
	SWITCH("total-delay", "contention profiles: total time of waiting (--sample-type delay)"),
	VIEW_SWITCH("mean-delay",
		    "contention profiles: mean time of a wait (--sample-type delay --mean)"),
	VIEW_SWITCH("mean", "divide by the first sample type, for example bytes by objects"),
	SWITCH("functions", "one row for each function (default)"),
	VIEW_SWITCH("filefunctions", "one row for each function and file"),
	VIEW_SWITCH("files", "one row for each source file"),
	SWITCH("lines", "one row for each source line"),
	VIEW_SWITCH("addresses", "one row for each address"),
	SWITCH("flat", "sort by flat, what a function holds itself (default)"),
	SWITCH("cum", "sort by cum, what a function and its callees hold"),
	{"nodecount", 0, MW_OPTION_LIMIT | MW_OPTION_OF_VIEWS, "N", NULL,
	 "the same as --top; 0 means all"},
	VIEW_NUMBER("nodefraction", "leave out rows below this share of the total (default 0.005)"),
	VIEW_NUMBER("edgefraction",
		    "leave out calls below this share of the total (default 0.001)"),
	{"maxdegree", 0, MW_OPTION_LIMIT | MW_OPTION_OF_VIEWS, "N", NULL,
	 "at most N calls into and out of a function (jeprof: 8); 0 means all"},
	VIEW_SWITCH("trim", "leave out small rows (default); --trim=false shows all"),
	VIEW_CHOICES("unit", "UNIT", "auto|minimum|B|kB|MB|GB|TB|PB|ns|us|ms|s|mins|hrs",
		     "B, kB, MB, GB, ns, ms, s, ...; minimum: the unit that pprof chooses; auto: a "
		     "fitting unit for each value"),
	VIEW_NUMBER("divide-by", "divide all values by this number before they are shown"),
	SWITCH("noinlines", "count an inlined function as the function that it was inlined into"),
	SWITCH("wrappers",
	       "show allocation wrappers (xmalloc, operator new, zmalloc, ...) as functions of "
	       "their own; by default their allocations count for their callers"),
	VIEW_SWITCH("relative-percentages",
		    "percentages of the selected stacks, not of the whole profile"),
	VIEW_SWITCH("call-tree", "graph: one node for each path to a function"),
	VIEW_SWITCH("ages", "flame: with the age of the memory in use, for colours by age"),
	VIEW_SWITCH("drop-negative", "leave out rows that shrank"),
	VIEW_LIST("base", "TARGET", "subtract this profile; may be given several times"),
	VIEW_LIST("diff-base", "TARGET", "subtract this profile, and show percentages of it"),
	VIEW_CHOICES("since", "WHEN", NULL,
		     "what changed in a live process since a mark (mallow mark), given by its name "
		     "or time; if no mark was set at the time, objects allocated since then that "
		     "are still live: 5m (ago), 14:30"),
	TEXT("alive-at", "WHEN",
	     "what was live in a live process or a state file at a mark (mallow mark), given by "
	     "its name or time; if no mark was set at the time, objects allocated before then that "
	     "are still live: 5m (ago), 14:30"),
	TEXT("made-between", "FROM,UNTIL",
	     "live processes and state files: only objects allocated in this time that are still "
	     "live, or were live at --alive-at: 10m,5m (ago), 14:30,now, or names of marks"),
	VIEW_SWITCH("normalize",
		    "before subtracting, scale the profile to the total of the subtracted one"),
	TEXT("trim-path", "DIRS", "remove these directories from the names of source files"),
	TEXT("source-path", "DIRS",
	     "list: directories that hold sources, with colons between them. Files elsewhere are "
	     "shown if you own them, or if root does and all may read them"),
	{"syntax", 0, MW_OPTION_CHOICE | MW_OPTION_OF_VIEWS, "SYNTAX", "att|intel",
	 "disasm: the syntax of the assembler, att (default) or intel; aarch64 has only one"},
	VIEW_SWITCH("intel-syntax", "the same as --syntax=intel"),
	MW_SYMBOL_OPTIONS,
	MW_FETCH_OPTIONS,
	{"output", 'o', MW_OPTION_TEXT | MW_OPTION_OF_VIEWS, "FILE", NULL,
	 "write a file; its ending chooses the format: .html flame graph; .svg, .png, .pdf, .dot "
	 "call graph; .folded, .speedscope.json, .callgrind, .json, .pb.gz; .txt or no ending: "
	 "text"},
	VIEW_CHOICES("format", "ENDING",
		     "html|svg|png|pdf|ps|gif|dot|folded|speedscope.json|callgrind|json|pb.gz",
		     "write to standard output in the format that --output chooses for this "
		     "ending: svg, json"),
	SWITCH("json", "print JSON with exact values: view, program, type, unit, total and the "
		       "view's rows; doc/reference/json.md describes every member"),
	MW_COLOR_OPTION,
	MW_NO_PAGER_OPTION,
	{NULL, 0, MW_OPTION_FLAG, NULL, NULL, NULL},
};

static const char *text(const mw_arguments_t *arguments, const char *name) {
	return mw_argument(arguments, name)->text;
}

static bool given(const mw_arguments_t *arguments, const char *name) {
	return mw_argument(arguments, name)->given;
}

mw_selection_t mw_selection_options_take(const mw_arguments_t *a) {
	return (mw_selection_t){
		.focus = text(a, "focus"),
		.ignore = text(a, "ignore"),
		.hide = text(a, "hide"),
		.show = text(a, "show"),
		.show_from = text(a, "show-from"),
		.prune_from = text(a, "prune-from"),
		.tag_focus = text(a, "tagfocus"),
		.tag_ignore = text(a, "tagignore"),
		.tag_show = text(a, "tagshow"),
		.tag_hide = text(a, "taghide"),
		.tag_root = text(a, "tagroot"),
		.tag_leaf = text(a, "tagleaf"),
		.retain = text(a, "retain"),
		.exclude = text(a, "exclude"),
		.thread = text(a, "thread"),
	};
}

void mw_view_options_selection(const mw_arguments_t *a, mw_selection_t *s) {
	*s = mw_selection_options_take(a);
	s->unit = text(a, "unit");
	s->trim_path = text(a, "trim-path");
	s->source_path = text(a, "source-path");
	s->no_inlines = given(a, "noinlines");
}

mw_granularity_t mw_view_options_granularity(const mw_arguments_t *a) {
	if (given(a, "addresses"))
		return MW_BY_ADDRESS;
	if (given(a, "lines"))
		return MW_BY_LINE;
	if (given(a, "files"))
		return MW_BY_FILE;
	return given(a, "filefunctions") ? MW_BY_FILE_FUNCTION : MW_BY_FUNCTION;
}

const char *mw_view_options_type(const mw_arguments_t *a) {
	static const char *const flags[][2] = {
		{"inuse-space", "inuse_space"}, {"inuse-objects", "inuse_objects"},
		{"alloc-space", "alloc_space"}, {"alloc-objects", "alloc_objects"},
		{"peak-space", "peak_space"},   {"peak-objects", "peak_objects"},
		{"contentions", "contentions"}, {"total-delay", "delay"},
		{"mean-delay", "delay"}};
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (given(a, flags[i][0]))
			return flags[i][1];
	return given(a, "sample-type") ? text(a, "sample-type") : text(a, "sample-index");
}

bool mw_view_options_is_mean(const mw_arguments_t *a) {
	return given(a, "mean") || given(a, "mean-delay");
}

/* Options that leave something out of the profile. */
static const char *const filter_names[] = {
	"focus",     "ignore",  "hide",    "show",   "show-from", "prune-from", "tagfocus",
	"tagignore", "tagshow", "taghide", "retain", "exclude",   "thread"};

bool mw_view_options_is_filter(const char *name) {
	for (size_t i = 0; i < sizeof(filter_names) / sizeof(filter_names[0]); i++)
		if (strcmp(filter_names[i], name) == 0)
			return true;
	return false;
}

bool mw_selection_options_need_labels(const mw_arguments_t *a) {
	static const char *const names[] = {"tagfocus", "tagignore", "tagshow", "taghide",
					    "tagroot",  "tagleaf",   "thread"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (given(a, names[i]))
			return true;
	return false;
}

bool mw_selection_options_given(const mw_arguments_t *a) {
	for (size_t i = 0; i < sizeof(filter_names) / sizeof(filter_names[0]); i++)
		if (given(a, filter_names[i]))
			return true;
	return false;
}

bool mw_view_options_need_labels(const mw_arguments_t *a) {
	const char *type = mw_view_options_type(a);
	if (mw_selection_options_need_labels(a))
		return true;
	return type != NULL && strcmp(type, "pinned_space") == 0;
}

char *mw_view_options_filters(const mw_arguments_t *a) {
	char *filters = mw_xstrdup("");
	size_t used = 0;
	for (size_t i = 0; i < sizeof(filter_names) / sizeof(filter_names[0]); i++) {
		const char *value = text(a, filter_names[i]);
		if (value == NULL)
			continue;
		size_t size = strlen(filter_names[i]) + strlen(value) + 8;
		filters = mw_xrealloc(filters, used + size, 1);
		used += (size_t)snprintf(filters + used, size, "   %s=%s\n", filter_names[i],
					 value);
	}
	return filters;
}

mw_syntax_t mw_view_options_syntax(const mw_arguments_t *a) {
	const char *syntax = text(a, "syntax");
	bool is_intel = syntax != NULL ? strcmp(syntax, "intel") == 0 : given(a, "intel-syntax");
	return is_intel ? MW_SYNTAX_INTEL : MW_SYNTAX_ATT;
}
