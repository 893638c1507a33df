/* SPDX-License-Identifier: MIT
 * help_man.c -- writes the man pages of the subcommands in mdoc(7). */
#include <string.h>

#include "cli/help/help.h"

/* Date of the latest change to the options.  It is fixed, so that each build writes equal pages. */
#define PAGES_DATE "November 22, 2026"

/* Prints a part of a line.  A word that begins with a dash is printed with minus signs, so that
 * a reader can copy it.  A dot or quote at the start of a line is escaped, because roff would
 * take it for a request. */
static void print_text(FILE *out, const char *text, size_t length, bool line_start) {
	bool is_option = false;
	for (size_t i = 0; i < length; i++) {
		char c = text[i], before = i > 0 ? text[i - 1] : ' ';
		if (strchr(" ('=", before) != NULL)
			is_option = c == '-';
		if (line_start && i == 0 && (c == '.' || c == '\''))
			fputs("\\&", out);
		if (c == '\\')
			fputs("\\e", out);
		else if (c == '-' && is_option)
			fputs("\\-", out);
		else
			fputc(c, out);
	}
}

/* Prints paragraphs, which an empty line separates.  A single newline ends a line.  Lines "name,
 * tab, meaning" become a list. */
static void print_paragraphs(FILE *out, const char *text) {
	bool in_list = false;
	while (*text) {
		size_t length = strcspn(text, "\n");
		const char *tab = memchr(text, '\t', length);
		size_t name = tab != NULL ? (size_t)(tab + 1 - text) : 0;
		if (tab != NULL && !in_list)
			fputs(".Bl -tag -width Ds\n", out);
		if (tab != NULL)
			fprintf(out, ".It Cm %.*s\n", (int)name - 1, text);
		print_text(out, text + name, length - name, true);
		fputc('\n', out);
		text += length;
		bool is_end = text[0] == '\0' || text[1] == '\n';
		if (tab != NULL && is_end)
			fputs(".El\n", out);
		in_list = tab != NULL && !is_end;
		const char *next = text + strspn(text, "\n");
		/* A list is a paragraph of its own. */
		bool is_list = memchr(next, '\t', strcspn(next, "\n")) != NULL;
		if (next - text > 1 && !is_list)
			fputs(".Pp\n", out);
		else if (next - text == 1 && *next != '\0' && !is_list && !in_list)
			fputs(".br\n", out);
		text = next;
	}
}

/* Prints the arguments of a roff request.  A word that roff would take for another request is
 * quoted. */
static void print_argument(FILE *out, const char *words) {
	fputs(" \"", out);
	print_text(out, words, strlen(words), false);
	fputc('"', out);
}

static void print_option(FILE *out, const mw_option_t *option) {
	bool one_of = mw_option_kind(option) == MW_OPTION_CHOICE;
	fputs(".It ", out);
	if (option->letter != 0)
		fprintf(out, "Fl %c , ", option->letter);
	fprintf(out, "Fl \\-%s", option->name);
	if (option->value != NULL) {
		fputs(" Ar", out);
		print_argument(out, one_of ? option->choices : option->value);
	}
	fputc('\n', out);
	print_paragraphs(out, option->help);
}

/* Prints a command as the reader types it. */
static void print_command(FILE *out, const char *text, size_t length) {
	fputs(".Bd -literal -offset indent\n", out);
	for (size_t i = 0; i < length; i++)
		if (text[i] == '\\' || text[i] == '-')
			fprintf(out, "\\%c", text[i] == '\\' ? 'e' : '-');
		else
			fputc(text[i], out);
	fputs("\n.Ed\n", out);
}

/* Prints examples.  Each line is "command  # description"; the description is printed above the
 * command. */
static void print_examples(FILE *out, const char *examples) {
	fputs(".Sh EXAMPLES\n", out);
	for (bool is_first = true; *examples; is_first = false) {
		size_t length = strcspn(examples, "\n");
		const char *comment = memmem(examples, length, "  # ", 4);
		size_t command = comment != NULL ? (size_t)(comment - examples) : length;
		while (command > 0 && examples[command - 1] == ' ')
			command--;
		if (comment != NULL) {
			if (!is_first)
				fputs(".Pp\n", out);
			print_text(out, comment + 4, (size_t)(examples + length - comment - 4),
				   true);
			fputs(":\n", out);
		}
		print_command(out, examples, command);
		examples += length + (examples[length] == '\n');
	}
}

/* Prints the page's name in capitals, as the title has it. */
static void print_title(FILE *out, const char *name) {
	fputs(".Dt ", out);
	for (; *name; name++)
		fputc(*name >= 'a' && *name <= 'z' ? *name & ~0x20 : *name, out);
	fputs(" 1\n", out);
}

void mw_help_print_man(FILE *out, const mw_subcommand_t *subcommand) {
	bool is_own = mw_subcommand_find(subcommand->name) != NULL;
	char page[64], called[64];
	snprintf(page, sizeof(page), "%s%s", is_own ? "mallow-" : "", subcommand->name);
	snprintf(called, sizeof(called), "%s%s", is_own ? "mallow " : "", subcommand->name);
	fputs(".\\\" SPDX-License-Identifier: MIT\n"
	      ".\\\" Made from the table of options by mallow help --man.\n"
	      ".Dd " PAGES_DATE "\n",
	      out);
	print_title(out, page);
	fprintf(out, ".Os mallow\\ " MALLOW_VERSION "\n.Sh NAME\n.Nm %s\n.Nd ", page);
	print_paragraphs(out, subcommand->summary);
	fprintf(out, ".Sh SYNOPSIS\n.Nm \"%s\"\n.Op Ar OPTION ...\n", called);
	if (*subcommand->operands) {
		fputs(".Ar", out);
		print_argument(out, subcommand->operands);
		fputc('\n', out);
	}
	fputs(".Sh DESCRIPTION\n", out);
	print_paragraphs(out, subcommand->details);
	fputs(".Sh OPTIONS\n.Bl -tag -width Ds\n", out);
	const mw_option_t *option;
	for (size_t i = 0; (option = mw_subcommand_option(subcommand, i)) != NULL; i++)
		if (mw_option_is_shown(option))
			print_option(out, option);
	static const mw_option_t help = {.name = "help", .letter = 'h', .help = "show the options"};
	print_option(out, &help);
	fputs(".El\n", out);
	print_examples(out, subcommand->examples);
	fputs(".Sh SEE ALSO\n.Xr mallow 1\n", out);
}

void mw_help_print_man_list(FILE *out) {
	const mw_command_table_t *table = mw_commands();
	for (size_t i = 0; i < table->group_count; i++)
		for (const char *const *name = table->groups[i].names; *name != NULL; name++) {
			fprintf(out, ".It Xr mallow-%s 1\n", *name);
			print_paragraphs(out, mw_subcommand_find(*name)->summary);
		}
}
