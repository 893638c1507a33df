/* SPDX-License-Identifier: MIT
 * wildcard.h -- patterns of LeakSanitizer's suppressions: a pattern matches a part of the text; '*'
 * stands for any characters, '^' at its start for the start of the text, '$' at its end for the
 * end.
 * Layer: base. */
#ifndef MW_BASE_WILDCARD_H
#define MW_BASE_WILDCARD_H

#include <stdbool.h>
#include <stddef.h>

/* Matches the pattern from `text` on.  `star` is the pattern after the last '*', which may match
 * at any later position; NULL = no '*' came yet, so the pattern matches at `text` only.  Only
 * the last star is retried, so the time is at most the product of the two lengths. */
static inline bool mw_wildcard_matches_from(const char *pattern, const char *star,
					    const char *text) {
	const char *retry = text;
	for (;;) {
		if (*pattern == '*') {
			star = ++pattern;
			retry = text;
		} else if (*pattern == '\0' || (*pattern == '$' && pattern[1] == '\0')) {
			if (*pattern == '\0' || *text == '\0')
				return true;
			if (star == NULL)
				return false;
			pattern = star;
			text = ++retry;
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (star != NULL && *text != '\0') {
			pattern = star;
			text = ++retry;
		} else {
			return false;
		}
	}
}

static inline bool mw_wildcard_matches(const char *pattern, const char *text) {
	return *pattern == '^' ? mw_wildcard_matches_from(pattern + 1, NULL, text)
			       : mw_wildcard_matches_from(pattern, pattern, text);
}

#endif
