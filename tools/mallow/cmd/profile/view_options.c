/* SPDX-License-Identifier: MIT
 * view_options.c -- the table of the views' options, and functions that read them. */
#include "cmd/profile/view_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/pager.h"
#include "cmd/input/load.h"
#include "model/memory.h"

#define SWITCH(field, name, help)                                                                  \
	{ name, 0, MW_BOUND(SWITCH, field), NULL, NULL, help }
#define TEXT(field, name, value, help)                                                             \
	{ name, 0, MW_BOUND(TEXT, field), value, NULL, help }
/* An option with a free text for which completions offer `choices`. */
#define CHOICES(field, name, value, choices, help)                                                 \
	{ name, 0, MW_BOUND(TEXT, field), value, choices, help }
#define SAMPLE_TYPES                                                                               \
	"inuse_space|inuse_objects|inuse_requested|alloc_space|alloc_objects|alloc_requested|"     \
	"peak_space|peak_objects|freed_objects|freed_elsewhere|temporary_objects|lifetime|"        \
	"pinned_space|inuse_mapped|inuse_mappings|alloc_mapped|alloc_mappings"

/* Rows of options that change tables and pictures of views, but not the table of `report`. */
#define VIEW_SWITCH(field, name, help)                                                             \
	{ name, 0, MW_BOUND_OF_VIEWS(SWITCH, field), NULL, NULL, help }
#define VIEW_LIST(field, name, value, help)                                                        \
	{ name, 0, MW_BOUND_OF_VIEWS(LIST, field), value, NULL, help }
#define VIEW_NUMBER(field, name, help)                                                             \
	{ name, 0, MW_BOUND_OF_VIEWS(FRACTION, field), "NUMBER", NULL, help }
#define VIEW_CHOICES(field, name, value, choices, help)                                            \
	{ name, 0, MW_BOUND_OF_VIEWS(TEXT, field), value, choices, help }

/* Options that choose stacks and frames, the same in each subcommand that reads profiles. */
#define SELECTION_ROWS                                                                             \
	TEXT(focus, "focus", "RE",                                                                 \
	     "only stacks with a frame that matches (function, file or module)"),                  \
		TEXT(ignore, "ignore", "RE", "only stacks without a frame that matches"),          \
		TEXT(hide, "hide", "RE", "leave out frames that match"),                           \
		TEXT(show, "show", "RE", "leave out frames that do not match"),                    \
		TEXT(show_from, "show-from", "RE",                                                 \
		     "begin each stack at the outermost frame that matches"),                      \
		TEXT(prune_from, "prune-from", "RE",                                               \
		     "leave out all callees of functions that match"),                             \
		TEXT(tagfocus, "tagfocus", "TAG",                                                  \
		     "only samples with this label: 'thread=main', '64kb:1mb'"),                   \
		TEXT(tagignore, "tagignore", "TAG", "only samples without this label"),            \
		TEXT(tagshow, "tagshow", "RE", "leave out labels whose key does not match"),       \
		TEXT(taghide, "taghide", "RE", "leave out labels whose key matches"),              \
		TEXT(tagroot, "tagroot", "KEYS",                                                   \
		     "add the values of these labels as outermost frames: 'thread'"),              \
		TEXT(tagleaf, "tagleaf", "KEYS",                                                   \
		     "add the values of these labels as innermost frames: 'bytes'"),               \
		TEXT(retain, "retain", "RE", "leave out functions that do not match"),             \
		TEXT(exclude, "exclude", "RE", "leave out functions that match"),                  \
		TEXT(thread, "thread", "ID",                                                       \
		     "only what this thread allocated; ID is its id or its name")

const mw_option_t mw_selection_options[] = {
	SELECTION_ROWS,
	{NULL, 0, MW_OPTION_FLAG, 0, NULL, NULL, NULL},
};

const char *const mw_selection_common_options[] = {"focus", "ignore", "thread", NULL};

const char *const mw_view_common_options[] = {"sample-type", "focus", "ignore", "thread",
					      "lines",       "cum",   "top",    "base",
					      "output",      "json",  NULL};

const mw_option_t mw_view_options[] = {
	SELECTION_ROWS,
	{"cpu", 0, MW_BOUND(FLAG, cpu), NULL, NULL,
	 "of a live process or a state file: CPU time, which 'mallow start --cpu' and 'mallow run "
	 "--cpu' sample, not memory; sample types cpu and samples"},
	CHOICES(sample_index, "sample-index", "TYPE", SAMPLE_TYPES,
		"the sample type, by its name or its number"),
	CHOICES(sample_type, "sample-type", "TYPE", SAMPLE_TYPES,
		"inuse_space (default), inuse_objects, inuse_requested, alloc_space, "
		"alloc_objects, "
		"alloc_requested, peak_space, peak_objects, freed_objects, freed_elsewhere, "
		"temporary_objects, lifetime, pinned_space, inuse_mapped, inuse_mappings, "
		"alloc_mapped or alloc_mappings"),
	SWITCH(inuse_space, "inuse-space", "the same as --sample-type inuse_space"),
	SWITCH(inuse_objects, "inuse-objects", "the same as --sample-type inuse_objects"),
	SWITCH(alloc_space, "alloc-space", "the same as --sample-type alloc_space"),
	SWITCH(alloc_objects, "alloc-objects", "the same as --sample-type alloc_objects"),
	SWITCH(peak_space, "peak-space", "the same as --sample-type peak_space"),
	SWITCH(peak_objects, "peak-objects", "the same as --sample-type peak_objects"),
	SWITCH(contentions, "contentions",
	       "contention profiles: number of waits (--sample-type contentions)"),
	SWITCH(total_delay, "total-delay",
	       "contention profiles: total time of waiting (--sample-type delay)"),
	VIEW_SWITCH(mean_delay, "mean-delay",
		    "contention profiles: mean time of a wait (--sample-type delay --mean)"),
	VIEW_SWITCH(mean, "mean", "divide by the first sample type, for example bytes by objects"),
	SWITCH(functions, "functions", "one row for each function (default)"),
	VIEW_SWITCH(filefunctions, "filefunctions", "one row for each function and file"),
	VIEW_SWITCH(files, "files", "one row for each source file"),
	SWITCH(lines, "lines", "one row for each source line"),
	VIEW_SWITCH(addresses, "addresses", "one row for each address"),
	SWITCH(flat, "flat", "sort by flat, what a function holds itself (default)"),
	SWITCH(cum, "cum", "sort by cum, what a function and its callees hold"),
	{"nodecount", 0, MW_BOUND_OF_VIEWS(LIMIT, nodecount), "N", NULL,
	 "the same as --top; 0 means all"},
	VIEW_NUMBER(nodefraction, "nodefraction",
		    "leave out rows below this share of the total (default 0.005)"),
	VIEW_NUMBER(edgefraction, "edgefraction",
		    "leave out calls below this share of the total (default 0.001)"),
	{"maxdegree", 0, MW_BOUND_OF_VIEWS(LIMIT, maxdegree), "N", NULL,
	 "at most N calls into and out of a function (jeprof: 8); 0 means all"},
	VIEW_SWITCH(trim, "trim", "leave out small rows (default); --trim=false shows all"),
	VIEW_CHOICES(unit, "unit", "UNIT", "auto|minimum|B|kB|MB|GB|TB|PB|ns|us|ms|s|mins|hrs",
		     "B, kB, MB, GB, ns, ms, s, ...; minimum: the unit that pprof chooses; auto: a "
		     "fitting unit for each value"),
	VIEW_NUMBER(divide_by, "divide-by",
		    "divide all values by this number before they are shown"),
	SWITCH(noinlines, "noinlines",
	       "count an inlined function as the function that it was inlined into"),
	SWITCH(wrappers, "wrappers",
	       "show allocation wrappers (xmalloc, operator new, zmalloc, ...) and, below the "
	       "program's own code, functions of language libraries (std::, boost's containers, "
	       "libc) as functions of their own; by default their allocations count for their "
	       "callers"),
	SWITCH(native, "native",
	       "show the frames of an interpreter, which are left out of stacks with functions of "
	       "scripts by default"),
	{"names", 0, MW_BOUND(CHOICE, names), "HOW", "short|full",
	 "names of functions in texts. short (default): on a terminal as wide as there is room "
	 "for, "
	 "elsewhere without template arguments if a name has more than 80 characters; full: whole. "
	 "JSON and files for other tools have whole names"},
	VIEW_SWITCH(relative_percentages, "relative-percentages",
		    "percentages of the selected stacks, not of the whole profile"),
	VIEW_SWITCH(call_tree, "call-tree", "graph: one node for each path to a function"),
	VIEW_SWITCH(births, "births",
		    "top, as JSON: with the time at which the memory in use was allocated, for "
		    "pictures over time"),
	VIEW_SWITCH(ages, "ages", "flame: with the age of the memory in use, for colours by age"),
	VIEW_SWITCH(drop_negative, "drop-negative", "leave out rows that shrank"),
	VIEW_LIST(base, "base", "TARGET", "subtract this profile; may be given several times"),
	VIEW_LIST(diff_base, "diff-base", "TARGET",
		  "subtract this profile, and show percentages of it"),
	VIEW_CHOICES(since, "since", "WHEN", NULL,
		     "what changed in a live process since a mark (mallow mark), given by its name "
		     "or time; if no mark was set at the time, objects allocated since then that "
		     "are still live: 5m (ago), 14:30"),
	TEXT(alive_at, "alive-at", "WHEN",
	     "what was live in a live process or a state file at a mark (mallow mark), given by "
	     "its name or time; if no mark was set at the time, objects allocated before then that "
	     "are still live: 5m (ago), 14:30"),
	TEXT(made_between, "made-between", "FROM,UNTIL",
	     "live processes and state files: only objects allocated in this time that are still "
	     "live, or were live at --alive-at: 10m,5m (ago), 14:30,now, or names of marks"),
	VIEW_SWITCH(normalize, "normalize",
		    "before subtracting, scale the profile to the total of the subtracted one"),
	TEXT(trim_path, "trim-path", "DIRS",
	     "remove these directories from the names of source files"),
	TEXT(source_path, "source-path", "DIRS",
	     "list: directories that hold sources, with colons between them. Files elsewhere are "
	     "shown if you own them, or if root does and all may read them"),
	{"syntax", 0, MW_BOUND_OF_VIEWS(CHOICE, syntax), "SYNTAX", "att|intel",
	 "disasm: the syntax of the assembler, att (default) or intel; aarch64 has only one"},
	VIEW_SWITCH(intel_syntax, "intel-syntax", "the same as --syntax=intel"),
	MW_SYMBOL_OPTIONS,
	MW_FETCH_OPTIONS,
	{"output", 'o', MW_BOUND_OF_VIEWS(TEXT, output), "FILE", NULL,
	 "write a file; its ending chooses the format: .html flame graph; .svg, .png, .pdf, .dot "
	 "call graph; .folded, .speedscope.json, .callgrind, .json, .pb.gz; .txt or no ending: "
	 "text"},
	VIEW_CHOICES(format, "format", "ENDING",
		     "html|svg|png|pdf|ps|gif|dot|folded|speedscope.json|callgrind|json|pb.gz",
		     "write to standard output in the format that --output chooses for this "
		     "ending: svg, json"),
	SWITCH(json, "json",
	       "print JSON with exact values: view, program, type, unit, total and the "
	       "view's rows; doc/reference/json.md describes every member"),
	MW_COLOR_OPTION,
	MW_NO_PAGER_OPTION,
	{NULL, 0, MW_OPTION_FLAG, 0, NULL, NULL, NULL},
};

mw_selection_t mw_selection_options_take(const mw_arguments_t *a) {
	return (mw_selection_t){
		.focus = a->options.focus.text,
		.ignore = a->options.ignore.text,
		.hide = a->options.hide.text,
		.show = a->options.show.text,
		.show_from = a->options.show_from.text,
		.prune_from = a->options.prune_from.text,
		.tag_focus = a->options.tagfocus.text,
		.tag_ignore = a->options.tagignore.text,
		.tag_show = a->options.tagshow.text,
		.tag_hide = a->options.taghide.text,
		.tag_root = a->options.tagroot.text,
		.tag_leaf = a->options.tagleaf.text,
		.retain = a->options.retain.text,
		.exclude = a->options.exclude.text,
		.thread = a->options.thread.text,
	};
}

void mw_view_options_selection(const mw_arguments_t *a, mw_selection_t *s) {
	*s = mw_selection_options_take(a);
	s->unit = a->options.unit.text;
	s->trim_path = a->options.trim_path.text;
	s->source_path = a->options.source_path.text;
	s->no_inlines = a->options.noinlines.given;
}

mw_granularity_t mw_view_options_granularity(const mw_arguments_t *a) {
	if (a->options.addresses.given)
		return MW_BY_ADDRESS;
	if (a->options.lines.given)
		return MW_BY_LINE;
	if (a->options.files.given)
		return MW_BY_FILE;
	return a->options.filefunctions.given ? MW_BY_FILE_FUNCTION : MW_BY_FUNCTION;
}

const char *mw_view_options_type(const mw_arguments_t *a) {
	static const char *const flags[][2] = {
		{"inuse-space", "inuse_space"}, {"inuse-objects", "inuse_objects"},
		{"alloc-space", "alloc_space"}, {"alloc-objects", "alloc_objects"},
		{"peak-space", "peak_space"},   {"peak-objects", "peak_objects"},
		{"contentions", "contentions"}, {"total-delay", "delay"},
		{"mean-delay", "delay"}};
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (mw_argument(a, flags[i][0])->given)
			return flags[i][1];
	return a->options.sample_type.given ? a->options.sample_type.text
					    : a->options.sample_index.text;
}

bool mw_view_options_is_mean(const mw_arguments_t *a) {
	return a->options.mean.given || a->options.mean_delay.given;
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
		if (mw_argument(a, names[i])->given)
			return true;
	return false;
}

bool mw_selection_options_given(const mw_arguments_t *a) {
	for (size_t i = 0; i < sizeof(filter_names) / sizeof(filter_names[0]); i++)
		if (mw_argument(a, filter_names[i])->given)
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
		const char *value = mw_argument(a, filter_names[i])->text;
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
	const char *syntax = a->options.syntax.text;
	bool is_intel =
		syntax != NULL ? strcmp(syntax, "intel") == 0 : a->options.intel_syntax.given;
	return is_intel ? MW_SYNTAX_INTEL : MW_SYNTAX_ATT;
}
