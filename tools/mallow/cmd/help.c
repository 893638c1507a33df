/* SPDX-License-Identifier: MIT
 * help.c -- `mallow help`, --help, and the completion scripts. */
#include "cmd/help.h"

#include <string.h>

#include "cmd/command.h"
#include "cmd/commands.h"

enum { HELP_COLUMNS = 79, OPTION_COLUMNS = 29 };

void mw_help_print_all(FILE *out) {
	fputs("Usage: mallow SUBCOMMAND [OPTION]... [TARGET]...\n"
	      "Heap profiles of programs that run with libmallow.so.\n\n",
	      out);
	for (size_t i = 0; i < mw_subcommand_count; i++)
		fprintf(out, "  %-10s %s\n", mw_subcommands[i].name, mw_subcommands[i].summary);
	fputs("\n"
	      "TARGET is a pid (of a live process, or of one that was killed), a state file, or,\n"
	      "for dump, report and the views, a profile file of any supported format.\n\n"
	      "  mallow SUBCOMMAND --help   options and examples of a subcommand\n"
	      "  mallow --version           version\n\n"
	      "Exit status: 0 fine, 2 trouble; `mallow run` ends as the program it ran.\n",
	      out);
}

/* Prints `text` in lines of at most HELP_COLUMNS, the first of which begins at column `first`, the
 * others at `indent`.  A newline in the text is kept. */
static void print_wrapped(FILE *out, const char *text, int first, int indent) {
	int column = first;
	bool line_start = true;
	for (; *text; text += strspn(text, " ")) {
		if (*text == '\n') {
			fputc('\n', out);
			text++;
			column = 0;
			line_start = true;
			continue;
		}
		int length = (int)strcspn(text, " \n");
		if (!line_start && column + 1 + length > HELP_COLUMNS) {
			fputc('\n', out);
			column = 0;
			line_start = true;
		}
		if (column == 0)
			column = fprintf(out, "%*s", indent, "");
		column += fprintf(out, "%s%.*s", line_start ? "" : " ", length, text);
		line_start = false;
		text += length;
	}
	fputc('\n', out);
}

static void print_option(FILE *out, char letter, const char *name, const char *value,
			 const char *help) {
	char left[64];
	snprintf(left, sizeof(left), "%c%c%s --%s%s%s", letter ? '-' : ' ', letter ? letter : ' ',
		 letter ? "," : " ", name, value ? " " : "", value ? value : "");
	int column = fprintf(out, "  %-*s ", OPTION_COLUMNS - 3, left);
	print_wrapped(out, help, column, OPTION_COLUMNS);
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
	print_wrapped(out, subcommand->details, 0, 0);
	fputs("\nOptions:\n", out);
	const mw_option_t *option;
	for (size_t i = 0; (option = mw_subcommand_option(subcommand, i)) != NULL; i++)
		print_option(out, option->letter, option->name, option->value, option->help);
	print_option(out, 'h', "help", NULL, "show this help");
	fputs("\nExamples:\n", out);
	print_indented(out, subcommand->examples);
}

static void print_bash(FILE *out) {
	fputs("_mallow() {\n"
	      "\tlocal word=${COMP_WORDS[COMP_CWORD]}\n"
	      "\tlocal words\n"
	      "\tcase ${COMP_CWORD}:${COMP_WORDS[1]} in\n"
	      "\t1:*) words=\"",
	      out);
	for (size_t i = 0; i < mw_subcommand_count; i++)
		fprintf(out, "%s ", mw_subcommands[i].name);
	fputs("--help --version\" ;;\n", out);
	for (size_t i = 0; i < mw_subcommand_count; i++) {
		fprintf(out, "\t*:%s) words=\"", mw_subcommands[i].name);
		const mw_option_t *option;
		for (size_t k = 0; (option = mw_subcommand_option(&mw_subcommands[i], k)); k++)
			fprintf(out, "--%s ", option->name);
		fputs("--help\" ;;\n", out);
	}
	fputs("\tesac\n"
	      "\tif [[ $word != -* && $COMP_CWORD -gt 1 ]]; then\n"
	      "\t\tcase ${COMP_WORDS[1]} in\n"
	      "\t\trun | ls | clean | help) ;;\n"
	      "\t\t*)\n"
	      "\t\t\twords=$(mallow ls 2>/dev/null | awk '$1 ~ /^[0-9]+$/ { print $1 }') ;;\n"
	      "\t\tesac\n"
	      "\tfi\n"
	      "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
	      "}\n"
	      "complete -o default -F _mallow mallow\n",
	      out);
}

/* Inside single quotes of zsh and fish.  Brackets and colons would end a zsh description. */
static void print_quoted(FILE *out, const char *text) {
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else
			fputc(strchr("[]:", *text) ? ' ' : *text, out);
	}
}

static void print_zsh(FILE *out) {
	fputs("#compdef mallow\n"
	      "_mallow() {\n"
	      "\tif (( CURRENT == 2 )); then\n"
	      "\t\tlocal -a commands=(\n",
	      out);
	for (size_t i = 0; i < mw_subcommand_count; i++) {
		fprintf(out, "\t\t\t'%s:", mw_subcommands[i].name);
		print_quoted(out, mw_subcommands[i].summary);
		fputs("'\n", out);
	}
	fputs("\t\t)\n"
	      "\t\t_describe command commands\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tcase $words[2] in\n",
	      out);
	for (size_t i = 0; i < mw_subcommand_count; i++) {
		fprintf(out, "\t%s) _arguments", mw_subcommands[i].name);
		const mw_option_t *option;
		for (size_t k = 0; (option = mw_subcommand_option(&mw_subcommands[i], k)); k++) {
			fprintf(out, " '--%s[", option->name);
			print_quoted(out, option->help);
			fprintf(out, "]%s'", option->value ? ":value:_files" : "");
		}
		fputs(" '*:target:_files' ;;\n", out);
	}
	fputs("\tesac\n"
	      "}\n"
	      "_mallow \"$@\"\n",
	      out);
}

static void print_fish(FILE *out) {
	for (size_t i = 0; i < mw_subcommand_count; i++) {
		const mw_subcommand_t *subcommand = &mw_subcommands[i];
		fprintf(out, "complete -c mallow -n __fish_use_subcommand -a %s -d '",
			subcommand->name);
		print_quoted(out, subcommand->summary);
		fputs("'\n", out);
		const mw_option_t *option;
		for (size_t k = 0; (option = mw_subcommand_option(subcommand, k)); k++) {
			fprintf(out,
				"complete -c mallow -n '__fish_seen_subcommand_from %s' -l %s%s -d "
				"'",
				subcommand->name, option->name, option->value ? " -r" : "");
			print_quoted(out, option->help);
			fputs("'\n", out);
		}
	}
}

int mw_cmd_help(const mw_arguments_t *arguments) {
	const char *shell = mw_argument(arguments, "completion")->text;
	if (shell) {
		if (strcmp(shell, "bash") == 0)
			print_bash(stdout);
		else if (strcmp(shell, "zsh") == 0)
			print_zsh(stdout);
		else
			print_fish(stdout);
		return MW_EXIT_FINE;
	}
	if (arguments->operand_count == 0) {
		mw_help_print_all(stdout);
		return MW_EXIT_FINE;
	}
	const mw_subcommand_t *subcommand = mw_subcommand_find(arguments->operands[0]);
	if (!subcommand) {
		mw_complain("help: there is no subcommand '%s'; 'mallow help' lists them",
			    arguments->operands[0]);
		return MW_EXIT_TROUBLE;
	}
	mw_help_print(stdout, subcommand);
	return MW_EXIT_FINE;
}
