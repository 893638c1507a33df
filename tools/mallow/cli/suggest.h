/* SPDX-License-Identifier: MIT
 * suggest.h -- finds the known word that a mistyped word probably means.
 * Layer: cli. */
#ifndef MW_TOOL_CLI_SUGGEST_H
#define MW_TOOL_CLI_SUGGEST_H

#include <stddef.h>

typedef struct mw_suggestion {
	const char *best; /* nearest word; NULL = none is near */
	size_t distance;  /* number of edits between `best` and the typed word */
} mw_suggestion_t;

/* Sets `best` to `candidate` if `candidate` is nearer to `word`.  An edit is a letter left out,
 * added or changed, or two letters exchanged.  A candidate that begins with `word` is one edit
 * away. '-' equals '_'. */
void mw_suggest(mw_suggestion_t *suggestion, const char *word, const char *candidate);

#endif
