/* SPDX-License-Identifier: MIT
 * line_words.c -- words, quotes and comments of a line. */
#include "agent/rules/line_words.h"

#include <string.h>

static const char blanks[] = " \t\r\n";

/* Copies a quoted word to `to` and returns what follows the closing quote; NULL: there is none.
 * `at` is behind the opening quote; `to` is not behind `at`. */
static char *take_quoted(char *at, char *to) {
	for (; *at != '"'; at++) {
		if (*at == '\\' && (at[1] == '"' || at[1] == '\\'))
			at++;
		if (*at == '\0')
			return NULL;
		*to++ = *at;
	}
	*to = '\0';
	return at + 1;
}

/* Returns what follows the word that begins at `at`, and ends the word with a 0. */
static char *take_bare(char *at) {
	at += strcspn(at, blanks);
	if (*at != '\0')
		*at++ = '\0';
	return at;
}

int mw_line_words_split(char *line, mw_line_words_t *out, mw_error_t *error) {
	char *at = line;
	out->count = 0;
	for (;;) {
		at += strspn(at, blanks);
		if (*at == '\0' || *at == '#')
			return 0;
		if (out->count == MW_LINE_WORDS_MAX)
			return mw_error_set(error, "more than %d words; quote words with blanks",
					    MW_LINE_WORDS_MAX);
		out->words[out->count++] = at;
		if (*at != '"') {
			at = take_bare(at);
			continue;
		}
		at = take_quoted(at + 1, at);
		if (at == NULL)
			return mw_error_set(error, "a quote is not closed");
		if (*at != '\0' && strchr(blanks, *at) == NULL)
			return mw_error_set(error, "a blank must follow the closing quote");
	}
}
