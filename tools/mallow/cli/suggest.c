/* SPDX-License-Identifier: MIT
 * suggest.c -- computes distances between words. */
#include "cli/suggest.h"

#include <stdbool.h>
#include <string.h>

/* Longer than any name of an option or subcommand. */
#define WORD_MAX 40
/* Most edits of a mistyped word.  A word is also no suggestion if half of its letters differ. */
#define SLIPS_MAX 3

static bool same(char a, char b) {
	return a == b || ((a == '-' || a == '_') && (b == '-' || b == '_'));
}

static size_t least(size_t a, size_t b) {
	return a < b ? a : b;
}

/* Damerau's distance in its simple form, computed row by row from the two rows before. */
static size_t distance(const char *word, size_t length, const char *other, size_t other_length) {
	size_t rows[3][WORD_MAX + 1];
	for (size_t i = 0; i <= length; i++) {
		size_t *row = rows[i % 3];
		const size_t *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
		row[0] = i;
		for (size_t k = 1; k <= other_length; k++) {
			if (i == 0) {
				row[k] = k;
				continue;
			}
			row[k] = least(least(above[k], row[k - 1]) + 1,
				       above[k - 1] + !same(word[i - 1], other[k - 1]));
			if (i > 1 && k > 1 && same(word[i - 1], other[k - 2]) &&
			    same(word[i - 2], other[k - 1]))
				row[k] = least(row[k], before[k - 2] + 1);
		}
	}
	return rows[length % 3][other_length];
}

void mw_suggest(mw_suggestion_t *suggestion, const char *word, const char *candidate) {
	size_t length = strlen(word), other_length = strlen(candidate);
	if (length > WORD_MAX || other_length > WORD_MAX || length < 2)
		return;
	size_t slips = strncmp(word, candidate, length) == 0
			       ? 1
			       : distance(word, length, candidate, other_length);
	if (slips > SLIPS_MAX || slips > length / 2 ||
	    (suggestion->best != NULL && slips >= suggestion->distance))
		return;
	*suggestion = (mw_suggestion_t){candidate, slips};
}
