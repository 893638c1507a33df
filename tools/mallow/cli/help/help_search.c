/* SPDX-License-Identifier: MIT
 * help_search.c -- `mallow help WORD`: what is about a word that is no subcommand. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "cli/help/help.h"
#include "cli/help/languages.h"
#include "cli/print.h"

enum { SEARCH_COLUMNS = 79, MEANING_COLUMNS = 6, NAME_COLUMNS = 14 };
/* Words differ in their ending only ("leak", "leaking") if so many letters are equal. */
#define STEM_MIN 3

/* Returns whether one of two words is the begin of the other; the first has `length` bytes. */
static bool is_kin(const char *word, size_t length, const char *wanted) {
	size_t wanted_length = strlen(wanted);
	size_t common = length < wanted_length ? length : wanted_length;
	return strncasecmp(word, wanted, common) == 0 &&
	       (length == wanted_length || common >= STEM_MIN);
}

/* `words` are separated by blanks. */
static bool has_word(const char *words, const char *wanted) {
	while (*words != '\0') {
		size_t length = strcspn(words, " ");
		if (is_kin(words, length, wanted))
			return true;
		words += length + (words[length] == ' ');
	}
	return false;
}

/* Returns whether a word of the text begins with `wanted`. */
static bool speaks_of(const char *text, const char *wanted) {
	size_t length = strlen(wanted);
	for (const char *at = text; (at = strcasestr(at, wanted)) != NULL; at++)
		if (at == text || !isalnum((unsigned char)at[-1]))
			return length > 0;
	return false;
}

static size_t print_topics(FILE *out, const char *wanted) {
	const mw_command_table_t *table = mw_commands();
	size_t found = 0;
	for (const mw_help_topic_t *topic = table->topics; topic->words != NULL; topic++) {
		if (!has_word(topic->words, wanted))
			continue;
		if (found++ == 0)
			fprintf(out, "%s %s%s\n", mw_say("About"), wanted, mw_say(":"));
		fprintf(out, "  %s\n%*s", topic->command, MEANING_COLUMNS, "");
		mw_print_wrapped(out, mw_say(topic->meaning), MEANING_COLUMNS, MEANING_COLUMNS,
				 SEARCH_COLUMNS);
	}
	return found;
}

/* Prints the subcommands whose summary, description or own options have the word. */
static size_t print_subcommands(FILE *out, const char *wanted, const char *before) {
	const mw_command_table_t *table = mw_commands();
	size_t found = 0;
	for (size_t i = 0; i < table->subcommand_count; i++) {
		const mw_subcommand_t *subcommand = &table->subcommands[i];
		bool speaks = speaks_of(subcommand->summary, wanted) ||
			      speaks_of(subcommand->details, wanted);
		for (const mw_option_t *option = subcommand->options; option->name; option++)
			speaks |=
				speaks_of(option->name, wanted) || speaks_of(option->help, wanted);
		/* The help of `help` gives words as examples. */
		if (!speaks || subcommand->run == mw_cmd_help)
			continue;
		if (found++ == 0)
			fprintf(out, "%s%s%s\n", before,
				mw_say("The help of these subcommands has the word"), mw_say(":"));
		int column = fprintf(out, "  %-*s ", NAME_COLUMNS - 3, subcommand->name);
		mw_print_wrapped(out, mw_say(subcommand->summary), column, NAME_COLUMNS,
				 SEARCH_COLUMNS);
	}
	return found;
}

bool mw_help_search(FILE *out, const char *word) {
	size_t topics = print_topics(out, word);
	return print_subcommands(out, word, topics > 0 ? "\n" : "") + topics > 0;
}
