/* SPDX-License-Identifier: MIT
 * compat.c -- `jeprof` and `pprof`: parses their options, chooses the view, and finds the
 * program's name before the profiles. */
#include "cmd/compat/compat.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/complain.h"
#include "cli/terminal.h"
#include "cmd/compat/name_addresses.h"
#include "cmd/compat/outputs.h"
#include "cmd/compat/shell.h"
#include "cmd/input/load.h"
#include "cmd/profile/view.h"
#include "cmd/profile/view_options.h"
#include "model/memory.h"

/* An option that is accepted and has no effect. */
typedef struct idle_option {
	const char *name;
	const char *why; /* what the message says; NULL = no message, because nothing is lost */
} idle_option_t;

#define IDLE_OPTIONS                                                                               \
	IDLE("tools", "PATHS", NULL)                                                               \
	IDLE("add_lib", "FILE", "the profile stores the paths of its libraries")                   \
	IDLE("lib_prefix", "DIRS", "the profile stores the paths of its libraries")                \
	IDLE("buildid", "ID", "the profile stores the build-ids")                                  \
	IDLE("test_stride", "N", NULL)                                                             \
	IDLE("scale", "N", "gv sizes its window itself")

#define IDLE_SWITCHES                                                                              \
	IDLE("heapcheck", NULL, "all nodes look the same")                                         \
	IDLE("debug", NULL, NULL)                                                                  \
	IDLE("debug-syms-by-id", NULL, NULL)                                                       \
	IDLE("no_strip_temp", NULL, NULL)                                                          \
	IDLE("all_frames", NULL, NULL)                                                             \
	IDLE("compact_labels", NULL, NULL)                                                         \
	IDLE("showcolumns", NULL, NULL)                                                            \
	IDLE("intel_syntax", NULL, NULL)                                                           \
	IDLE("no_browser", NULL, NULL)

static const idle_option_t idle_options[] = {
#define IDLE(name, value, why) {name, why},
	IDLE_OPTIONS IDLE_SWITCHES
#undef IDLE
};

enum {
#define MW_OUTPUT(...) +1
	OUTPUTS = 0
#include "cmd/compat/outputs.def"
#undef MW_OUTPUT
};

/* The outputs come first, in the order of mw_outputs. */
static const mw_option_t compat_options[] = {
#define MW_OUTPUT(name, kind, view, format, programs, help) {name, 0, kind, 0, "RE", NULL, help},
#include "cmd/compat/outputs.def"
#undef MW_OUTPUT
#define IDLE(name, value, why) {name, 0, MW_OPTION_TEXT, 0, value, NULL, "no effect"},
	IDLE_OPTIONS
#undef IDLE
#define IDLE(name, value, why) {name, 0, MW_OPTION_SWITCH, 0, value, NULL, "no effect"},
		IDLE_SWITCHES
#undef IDLE
	{"show_bytes", 0, MW_BOUND(SWITCH, show_bytes), NULL, NULL, "show values in bytes"},
	{"add_comment", 0, MW_BOUND(TEXT, add_comment), "TEXT", NULL,
	 "add TEXT to the profile's comments"},
	{"http", 0, MW_BOUND(TEXT, http), "HOST:PORT", NULL,
	 "show a flame graph in a browser, from a file; no server is started"},
	{"symbols", 0, MW_BOUND(SWITCH, symbols), NULL, NULL,
	 "print names of addresses; standard input holds the maps of PROGRAM and one address a "
	 "line. With --lines also module and place of each, with tabs between"},
	{"version", 0, MW_BOUND(SWITCH, version), NULL, NULL,
	 "print the version; takes no other arguments"},
	{"test", 0, MW_BOUND(SWITCH, test), NULL, NULL,
	 "jeprof's self-test; mallow has none; takes no other arguments"},
	{"interactive", 0, MW_BOUND(SWITCH, interactive), NULL, NULL,
	 "read commands from a prompt (default)"},
	{NULL, 0, MW_OPTION_FLAG, 0, NULL, NULL, NULL},
};

/* Options of jeprof and of gperftools' pprof: these programs take the begin of a name for the
 * option, if it is the begin of one name only, and "no" before the name of a switch. */
static const char *const abbreviated[] = {
	"help",         "version",       "cum",         "base",
	"seconds",      "add_lib",       "lib_prefix",  "functions",
	"lines",        "addresses",     "files",       "text",
	"callgrind",    "list",          "disasm",      "symbols",
	"gv",           "evince",        "web",         "dot",
	"ps",           "pdf",           "svg",         "gif",
	"raw",          "collapsed",     "interactive", "nodecount",
	"nodefraction", "edgefraction",  "maxdegree",   "focus",
	"thread",       "ignore",        "scale",       "heapcheck",
	"retain",       "exclude",       "inuse_space", "inuse_objects",
	"alloc_space",  "alloc_objects", "show_bytes",  "drop_negative",
	"total_delay",  "contentions",   "mean_delay",  "tools",
	"test",         "debug",         "test_stride", NULL};

static int run_compat(const mw_arguments_t *arguments);

#define COMPAT(name_, empty_is_default_, operands_, summary_, details_)                            \
	{                                                                                          \
		.name = name_, .operands = operands_, .summary = summary_, .details = details_,    \
		.examples = name_ " --text ./server server.heap\n" name_                           \
				  " --list=parse ./server server.heap",                            \
		.operands_min = 1, .operands_max = UINT_MAX, .run = run_compat,                    \
		.shared = mw_view_options, .more = compat_options,                                 \
		.empty_is_default = empty_is_default_, .abbreviated = abbreviated,                 \
	}

const mw_subcommand_t mw_compat_programs[MW_COMPAT_PROGRAMS] = {
	COMPAT("jeprof", false, "[PROGRAM] PROFILE...", "show profiles as jeprof does",
	       "Options and output are those of jeprof. Profiles may have any format that mallow "
	       "reads. Without an option that chooses a view, a prompt reads commands."),
	COMPAT("pprof", true, "[PROGRAM] PROFILE...", "show profiles as pprof does",
	       "Options and output are those of pprof. Profiles may have any format that mallow "
	       "reads. Without an option that chooses a view, a prompt reads commands."),
};

/* The page that pprof's -http shows first. */
static const mw_output_row_t page = {
	.name = "http",
	.view = "flame",
	.format = "html",
	.programs = "sensible-browser x-www-browser xdg-open chromium firefox",
	.help = "a flame graph in a browser",
};

bool mw_compat_answer(const mw_subcommand_t *program, const char *option) {
	option += strspn(option, "-");
	if (strcmp(option, "version") == 0)
		printf("%s (part of mallow " MALLOW_VERSION ")\n", program->name);
	else if (strcmp(option, "test") == 0)
		printf("%s (part of mallow " MALLOW_VERSION
		       ") has no tests of itself; mallow's are run by 'make check'\n",
		       program->name);
	else
		return false;
	return true;
}

static bool is_jeprof(const mw_arguments_t *arguments) {
	return arguments->subcommand == &mw_compat_programs[0];
}

static void say_idle(const mw_arguments_t *arguments) {
	for (size_t i = 0; i < sizeof(idle_options) / sizeof(idle_options[0]); i++)
		if (mw_argument(arguments, idle_options[i].name)->given &&
		    idle_options[i].why != NULL)
			mw_complain("note: --%s has no effect: %s", idle_options[i].name,
				    idle_options[i].why);
}

/* True if the operand is an executable, which stands before the profiles. */
static bool is_program(const char *path) {
	unsigned char magic[4];
	/* A pipe is not waited for, and nothing is taken out of it: pread() fails. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return false;
	bool is_elf = pread(fd, magic, 4, 0) == 4 && memcmp(magic, "\177ELF", 4) == 0;
	close(fd);
	return is_elf;
}

/* Finds the requested output; NULL = none was requested.  False: a message was printed. */
static bool find_output(const mw_arguments_t *arguments, const mw_output_row_t **out) {
	*out = NULL;
	for (size_t i = 0; i < OUTPUTS; i++) {
		const mw_option_t *option = &compat_options[i];
		if (!mw_argument(arguments, option->name)->given)
			continue;
		if (*out != NULL) {
			mw_complain("%s: --%s and --%s: give one of them",
				    arguments->subcommand->name, (*out)->name, option->name);
			return false;
		}
		*out = &mw_outputs[i];
	}
	if (*out == NULL && arguments->options.http.given) {
		mw_complain("note: -http starts no server; a browser opens the flame graph from a "
			    "file");
		*out = &page;
	}
	return true;
}

/* Sets options to the defaults of both programs. */
static bool set_standards(mw_arguments_t *view, const mw_arguments_t *arguments) {
	bool good = true;
	if (arguments->options.show_bytes.given)
		good = mw_arguments_set(view, "unit", "B");
	view->is_pprof = !is_jeprof(arguments);
	if (view->is_pprof)
		return good &&
		       (view->options.unit.given || mw_arguments_set(view, "unit", "minimum"));
	view->is_jeprof = true;
	if (strcmp(view->subcommand->name, "graph") != 0)
		return good && mw_arguments_set(view, "trim", "false");
	return good && (view->options.maxdegree.given || mw_arguments_set(view, "maxdegree", "8"));
}

static int load_and_make(mw_arguments_t *view, const mw_output_row_t *row) {
	mw_inputs_t inputs;
	mw_error_t error;
	mw_profile_t *profile;
	size_t base_first;
	/* The format is clear before the name of the output is looked at. */
	if (row->format != NULL && !mw_arguments_set(view, "format", row->format))
		return MW_EXIT_TROUBLE;
	if (mw_view_inputs(view, &inputs, &error) != 0 ||
	    mw_inputs_load(&inputs, &profile, &base_first, &error) != 0) {
		mw_complain("%s", error.text);
		return MW_EXIT_TROUBLE;
	}
	int status = mw_output_make(row, view, profile, base_first);
	mw_profile_free(profile);
	return status;
}

/* Without an output gperftools' pprof and jeprof print text where no terminal shows it, and Go's
 * pprof reads commands: a script on standard input is read, and without one text is printed. */
static bool prints_text(const mw_arguments_t *arguments) {
	if (arguments->options.interactive.given || mw_stdout_is_terminal())
		return false;
	int c = isatty(STDIN_FILENO) ? EOF : getc(stdin);
	if (c != EOF)
		ungetc(c, stdin);
	return c == EOF;
}

static int run_compat(const mw_arguments_t *arguments) {
	const mw_output_row_t *row;
	if (!find_output(arguments, &row))
		return MW_EXIT_TROUBLE;
	if (arguments->options.version.given || arguments->options.test.given) {
		mw_complain(
			"%s: --version and --test take no other arguments; leave the others out",
			arguments->subcommand->name);
		return MW_EXIT_TROUBLE;
	}
	say_idle(arguments);
	if (arguments->options.symbols.given) {
		mw_load_take_options(arguments);
		return mw_name_addresses(arguments->operands[0], arguments->options.lines.given);
	}
	if (row == NULL && prints_text(arguments))
		row = mw_output_row_find("text");
	char **targets = arguments->operands;
	mw_arguments_t view = *arguments;
	view.program = NULL;
	view.comment = arguments->options.add_comment.text;
	view.subcommand = mw_subcommand_find(row != NULL ? row->view : "top");
	if (arguments->operand_count > 1 && is_program(targets[0]))
		view.program = *targets++;
	unsigned count = arguments->operand_count - (unsigned)(targets - arguments->operands);
	bool has_pattern = row != NULL && mw_output_has_pattern(row);
	/* The pattern precedes the targets, as in a view's operands. */
	const char **words = mw_xcalloc((size_t)count + 2, sizeof(*words));
	memcpy(words + has_pattern, targets, count * sizeof(*words));
	if (has_pattern)
		words[0] = mw_argument(arguments, row->name)->text;
	view.operands = (char **)words;
	view.operand_count = count + has_pattern;
	int status = MW_EXIT_TROUBLE;
	if (has_pattern && words[0] == NULL)
		mw_complain("%s: --%s needs a value: --%s=RE", arguments->subcommand->name,
			    row->name, row->name);
	else if (set_standards(&view, arguments))
		status = row != NULL ? load_and_make(&view, row) : mw_shell(&view);
	free(words);
	return status;
}
