/* SPDX-License-Identifier: MIT
 * help.c -- `mallow help` and --help: what a terminal shows. */
#include "cmd/help.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/compat.h"
#include "cmd/show.h"
#include "cmd/terminal.h"
#include "model/alloc.h"

enum { HELP_COLUMNS = 79, OPTION_COLUMNS = 29 };

void mw_help_print_all(FILE *out) {
	fputs("Usage: mallow SUBCOMMAND [OPTION]... [TARGET]...\n"
	      "Heap profiles of programs that run with libmallow.so.\n\n",
	      out);
	for (size_t i = 0; i < mw_subcommand_count; i++)
		fprintf(out, "  %-10s %s\n", mw_subcommands[i].name, mw_subcommands[i].summary);
	fputs("\n"
	      "TARGET is a pid (of a live process, or of one that was killed), a state file, or,\n"
	      "for dump, report and the views, a profile file of any supported format, its URL,\n"
	      "or a directory of dumps: the newest of each process.\n\n"
	      "  mallow SUBCOMMAND --help   options and examples of a subcommand\n"
	      "  mallow --version           version\n\n"
	      "Exit status: 0 fine, 1 finding, 2 trouble; `mallow run` ends as the program it "
	      "ran.\n",
	      out);
}

static void print_row(FILE *out, const char *left, const char *text) {
	int column = fprintf(out, "  %-*s ", OPTION_COLUMNS - 3, left);
	mw_print_wrapped(out, text, column, OPTION_COLUMNS, HELP_COLUMNS);
}

/* Paragraphs, and rows of a name, a tab and what it means. */
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

static void print_option(FILE *out, char letter, const char *name, const char *value,
			 const char *help) {
	char left[64];
	snprintf(left, sizeof(left), "%c%c%s --%s%s%s", letter ? '-' : ' ', letter ? letter : ' ',
		 letter ? "," : " ", name, value ? " " : "", value ? value : "");
	print_row(out, left, help);
}

/* Each line of `text`, indented. */
static void print_indented(FILE *out, const char *text) {
	while (*text) {
		size_t length = strcspn(text, "\n");
		fprintf(out, "  %.*s\n", (int)length, text);
		text += length + (text[length] == '\n');
	}
}

void mw_help_print(FILE *out, const mw_subcommand_t *subcommand) {
	fprintf(out, "Usage: mallow %s [OPTION]...%s%s\n%c%s.\n\n", subcommand->name,
		*subcommand->operands ? " " : "", subcommand->operands,
		subcommand->summary[0] & ~0x20, subcommand->summary + 1);
	print_details(out, subcommand->details);
	fputs("\nOptions:\n", out);
	const mw_option_t *option;
	for (size_t i = 0; (option = mw_subcommand_option(subcommand, i)) != NULL; i++)
		print_option(out, option->letter, option->name, option->value, option->help);
	print_option(out, 'h', "help", NULL, "show this help");
	fputs("\nExamples:\n", out);
	print_indented(out, subcommand->examples);
}

/* NULL: it complained. */
static const mw_subcommand_t *find_any(const char *name) {
	const mw_subcommand_t *subcommand = mw_subcommand_find(name);
	if (!subcommand)
		subcommand = mw_compat_find(name);
	if (!subcommand)
		mw_complain("help: there is no subcommand '%s'; 'mallow help' lists them", name);
	return subcommand;
}

int mw_cmd_help(const mw_arguments_t *arguments) {
	const char *shell = mw_argument(arguments, "completion")->text;
	const char *name = arguments->operand_count > 0 ? arguments->operands[0] : NULL;
	bool man = mw_argument(arguments, "man")->given;
	const mw_subcommand_t *subcommand = name ? find_any(name) : NULL;
	if (name && !subcommand)
		return MW_EXIT_TROUBLE;
	mw_terminal_page(arguments);
	if (shell)
		mw_help_print_completion(stdout, shell);
	else if (man && subcommand)
		mw_help_print_man(stdout, subcommand);
	else if (man)
		mw_help_print_man_list(stdout);
	else if (subcommand)
		mw_help_print(stdout, subcommand);
	else
		mw_help_print_all(stdout);
	return MW_EXIT_FINE;
}
