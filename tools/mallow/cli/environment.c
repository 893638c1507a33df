/* SPDX-License-Identifier: MIT
 * environment.c -- reads MALLOW_OPTIONS. */
#include "cli/environment.h"

#include <stdlib.h>
#include <string.h>

#include "cli/complain.h"
#include "model/memory.h"

static bool is_known_anywhere(const char *name, size_t length) {
	for (size_t i = 0; i < mw_commands()->subcommand_count; i++)
		if (mw_subcommand_has_option(&mw_commands()->subcommands[i], name, length))
			return true;
	return false;
}

/* Adds the options of `text` that the subcommand has.  False: a message was printed. */
static bool add_words(mw_words_t *out, const mw_subcommand_t *subcommand, char *text) {
	for (char *rest = NULL, *word = strtok_r(text, " \t\n", &rest); word != NULL;
	     word = strtok_r(NULL, " \t\n", &rest)) {
		const char *name = word + strspn(word, "-");
		size_t length = strcspn(name, "=");
		if (name - word != 2 || length == 0 || !is_known_anywhere(name, length)) {
			mw_complain("unknown option '%s' in MALLOW_OPTIONS; allowed: --NAME or "
				    "--NAME=VALUE, as 'mallow SUBCOMMAND --help' lists them",
				    word);
			return false;
		}
		if (mw_subcommand_has_option(subcommand, name, length))
			out->words[out->count++] = word;
	}
	return true;
}

bool mw_words_collect(mw_words_t *out, const mw_subcommand_t *subcommand, int argc, char **argv) {
	const char *options = getenv("MALLOW_OPTIONS");
	*out = (mw_words_t){.text = mw_xstrdup(options != NULL ? options : "")};
	/* A space separates two words, so `text` holds at most half its length in words. */
	out->words = mw_xcalloc(strlen(out->text) / 2 + (size_t)argc + 2, sizeof(char *));
	if (!add_words(out, subcommand, out->text))
		return false;
	for (int i = 0; i < argc; i++)
		out->words[out->count++] = argv[i];
	return true;
}

void mw_words_release(mw_words_t *words) {
	free(words->words);
	free(words->text);
}
