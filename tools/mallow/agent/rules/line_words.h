/* SPDX-License-Identifier: MIT
 * line_words.h -- takes a line of the agent's configuration file apart into words.
 * Layer: agent/rules.  Blanks separate words.  A word in double quotes may hold blanks; in it \" is
 * a quote and \\ is a backslash.  Outside quotes a backslash is an ordinary character, as patterns
 * need it.  '#' at the start of a word begins a comment. */
#ifndef MW_TOOL_AGENT_RULES_LINE_WORDS_H
#define MW_TOOL_AGENT_RULES_LINE_WORDS_H

#include <stddef.h>

#include "model/error.h"

/* Most words of a line. */
#define MW_LINE_WORDS_MAX 16

typedef struct mw_line_words {
	char *words[MW_LINE_WORDS_MAX]; /* parts of the line, which is changed */
	size_t count;                   /* 0: the line is empty, or a comment */
} mw_line_words_t;

/* Divides the line in place.  -1: a quote is not closed, or there are too many words. */
int mw_line_words_split(char *line, mw_line_words_t *out, mw_error_t *error);

#endif
