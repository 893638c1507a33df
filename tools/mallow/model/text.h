/* SPDX-License-Identifier: MIT
 * text.h -- makes text from files and processes safe to show.
 * Layer: model.  A hostile profile, program name or file name may hold control characters that
 * change the reader's terminal. mw_text_character() decides for all views, messages and formats
 * which characters are safe.  Unsafe are C0 (tab and newline included), DEL, C1, and bytes that
 * are not UTF-8. */
#ifndef MW_TOOL_MODEL_TEXT_H
#define MW_TOOL_MODEL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct mw_character {
	size_t bytes;    /* length of the character in the text, at least 1 */
	uint32_t code;   /* code point; if is_utf8 is false, the byte itself */
	bool is_utf8;    /* false: this byte is not part of a UTF-8 character */
	bool is_control; /* C0, DEL or C1 */
} mw_character_t;

/* Returns the first character of `text`, which is not empty. */
mw_character_t mw_text_character(const char *text);

/* Replaces each unsafe character by '?', except control characters listed in `kept`.  The text
 * never gets longer.  Returns `text`. */
char *mw_text_clean(char *text, const char *kept);

/* Prints `text` with each unsafe character as '?'. */
void mw_text_print(FILE *out, const char *text);

#endif
