/* SPDX-License-Identifier: MIT
 * help.c -- prints `mallow help` and --help on a terminal. */
#include "cli/help/help.h"

#include <stdlib.h>
#include <string.h>

#include "cli/complain.h"
#include "cli/help/languages.h"
#include "cli/pager.h"
#include "cli/print.h"
#include "model/memory.h"

enum { HELP_COLUMNS = 79, OPTION_COLUMNS = 29 };

static const char before_list[] = "Usage: mallow SUBCOMMAND [OPTION]... [TARGET]...\n"
				  "Heap profiles of programs that run with libmallow.so.\n";
/* clang-format would break each line of the text in two. */
/* clang-format off */
static const char after_list[] = "\n"
"top, web and cpu show a program at work; the others print once.\n\n"
"TARGET is a number: the pid of a live or a killed process; a word with a slash:\n"
"a state file, a profile of any supported format, or a directory of dumps (the\n"
"newest dump of each process counts); any other word: such a file in the current\n"
"directory, or else the name of a process; or the URL of a profile. Without a\n"
"target, commands that only read take the only process that runs mallow.\n\n"
"  mallow PID                 the memory of a process, and who holds most of it\n"
"  mallow help WORD           commands about a word: leak, rss, slow, peak\n"
"  mallow SUBCOMMAND --help   show common options and examples of a subcommand\n"
"  mallow --version           show the version\n\n"
"The environment variable MALLOW_OPTIONS holds options for every subcommand that\n"
"has them. Exit status: 0 fine, 1 finding, 2 trouble; 'mallow run' ends as its\n"
"program ended.\n";
/* clang-format on */

void mw_help_print_all(FILE *out) {
	const mw_command_table_t *table = mw_commands();
	fputs(mw_say(before_list), out);
	for (size_t i = 0; i < table->group_count; i++) {
		fprintf(out, "\n%s%s\n", mw_say(table->groups[i].title), mw_say(":"));
		for (const char *const *name = table->groups[i].names; *name != NULL; name++)
			fprintf(out, "  %-10s %s\n", *name,
				mw_say(mw_subcommand_find(*name)->summary));
	}
	fputs(mw_say(after_list), out);
}

static void print_row(FILE *out, const char *left, const char *text) {
	int column = fprintf(out, "  %-*s ", OPTION_COLUMNS - 3, left);
	mw_print_wrapped(out, text, column, OPTION_COLUMNS, HELP_COLUMNS);
}

/* Prints paragraphs, and rows of a name, a tab and its meaning. */
static void print_details(FILE *out, const char *details) {
	char *text = mw_xstrdup(details), *rest = text, *line;
	while ((line = strsep(&rest, "\n")) != NULL) {
		char *tab = strchr(line, '\t');
		if (tab == NULL) {
			mw_print_wrapped(out, line, 0, 0, HELP_COLUMNS);
			continue;
		}
		*tab = '\0';
		print_row(out, line, tab + 1);
	}
	free(text);
}

/* True if the help of an option names each of its choices. */
static bool names_choices(const mw_option_t *option) {
	for (const char *choice = option->choices; *choice != '\0';) {
		size_t length = strcspn(choice, "|");
		if (memmem(option->help, strlen(option->help), choice, length) == NULL)
			return false;
		choice += length + (choice[length] == '|');
	}
	return true;
}

static void print_option(FILE *out, const mw_option_t *option) {
	char left[64], *help = NULL;
	snprintf(left, sizeof(left), "%c%c%s --%s%s%s", option->letter ? '-' : ' ',
		 option->letter ? option->letter : ' ', option->letter ? "," : " ", option->name,
		 option->value ? " " : "", option->value ? option->value : "");
	if (option->choices != NULL && !names_choices(option) &&
	    asprintf(&help, "%s: %s", option->help, option->choices) < 0)
		help = NULL;
	for (char *bar = help; bar != NULL && (bar = strchr(bar, '|')) != NULL;)
		*bar = ' ';
	print_row(out, left, help != NULL ? help : option->help);
	free(help);
}

static bool is_common(const mw_subcommand_t *subcommand, const char *name) {
	/* A subcommand has few options of its own, so all of them are shown. */
	for (const mw_option_t *option = subcommand->options; option->name; option++)
		if (strcmp(option->name, name) == 0)
			return true;
	for (const char *const *common = subcommand->common; *common != NULL; common++)
		if (strcmp(*common, name) == 0)
			return true;
	return false;
}

static void print_options(FILE *out, const mw_subcommand_t *subcommand, bool is_all) {
	static const mw_option_t help = {.name = "help", .letter = 'h', .help = "show this help"};
	size_t left_out = 0;
	const mw_option_t *option;
	fputs(is_all || subcommand->common == NULL ? "\nOptions:\n" : "\nCommon options:\n", out);
	for (size_t i = 0; (option = mw_subcommand_option(subcommand, i)) != NULL; i++) {
		if (!mw_option_is_shown(option))
			continue;
		bool is_shown =
			is_all || subcommand->common == NULL || is_common(subcommand, option->name);
		left_out += !is_shown;
		if (is_shown)
			print_option(out, option);
	}
	print_option(out, &help);
	char text[64];
	snprintf(text, sizeof(text), "also the other %zu options", left_out);
	if (left_out > 0)
		print_row(out, "    --help --all", text);
}

/* Prints each line of `text` indented. */
static void print_indented(FILE *out, const char *text) {
	while (*text) {
		size_t length = strcspn(text, "\n");
		fprintf(out, "  %.*s\n", (int)length, text);
		text += length + (text[length] == '\n');
	}
}

void mw_help_print(FILE *out, const mw_subcommand_t *subcommand, bool is_all) {
	char call[48];
	fprintf(out, "Usage: %s [OPTION]...%s%s\n%c%s.\n\n",
		mw_subcommand_call(subcommand, call, sizeof(call)),
		*subcommand->operands ? " " : "", subcommand->operands,
		subcommand->summary[0] & ~0x20, subcommand->summary + 1);
	print_details(out, subcommand->details);
	print_options(out, subcommand, is_all);
	fputs("\nExamples:\n", out);
	print_indented(out, subcommand->examples);
}

/* Prints what is about a word that is no subcommand. */
static int search(const mw_arguments_t *arguments, const char *word) {
	if (!arguments->options.man.given) {
		mw_pager_begin(arguments);
		if (mw_help_search(stdout, word))
			return MW_EXIT_FINE;
	}
	mw_complain("help: no subcommand is called '%s'%s; 'mallow help' lists all", word,
		    arguments->options.man.given ? "" : ", and no help has the word");
	return MW_EXIT_TROUBLE;
}

int mw_cmd_help(const mw_arguments_t *arguments) {
	const char *shell = arguments->options.completion.text;
	const mw_text_value_t *lang = &arguments->options.lang;
	const char *name = arguments->operand_count > 0 ? arguments->operands[0] : NULL;
	bool man = arguments->options.man.given;
	const mw_subcommand_t *subcommand = name ? mw_subcommand_find(name) : NULL;
	if (lang->given)
		mw_language_set(strcmp(lang->text, "zh") == 0 ? MW_LANGUAGE_CHINESE
							      : MW_LANGUAGE_ENGLISH);
	if (name && !subcommand)
		subcommand = mw_compat_find(name);
	if (name && !subcommand)
		return search(arguments, name);
	mw_pager_begin(arguments);
	if (shell)
		mw_help_print_completion(stdout, shell);
	else if (man && subcommand)
		mw_help_print_man(stdout, subcommand);
	else if (man)
		mw_help_print_man_list(stdout);
	else if (subcommand)
		mw_help_print(stdout, subcommand, arguments->options.all.given);
	else
		mw_help_print_all(stdout);
	return MW_EXIT_FINE;
}
