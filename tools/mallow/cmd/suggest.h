/* SPDX-License-Identifier: MIT
 * suggest.h -- which of the known words a mistyped one is meant to be.
 * Layer: cmd. */
#ifndef MW_CMD_SUGGEST_H
#define MW_CMD_SUGGEST_H

#include <stddef.h>

typedef struct mw_suggestion {
	const char *best; /* NULL: none is near */
	size_t distance;  /* of that, in slips */
} mw_suggestion_t;

/* Takes `candidate` if it is nearer to `word` than what was offered before: letters left out,
 * added, changed, or two exchanged; a word that begins with `word` is one slip away.  '-' and '_'
 * are the same. */
void mw_suggest(mw_suggestion_t *suggestion, const char *word, const char *candidate);

#endif
