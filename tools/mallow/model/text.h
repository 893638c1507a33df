/* SPDX-License-Identifier: MIT
 * text.h -- makes text from files and processes safe to show.
 * Layer: model.  A hostile profile, program name or file name may hold control characters that
 * change the reader's terminal, or characters that make a terminal or browser show the rest of a
 * line in another order. mw_text_character() decides for all views, messages and formats which
 * characters are safe.  Unsafe are C0 (tab and newline included), DEL, C1, Unicode's bidirectional
 * controls and separators of lines, and bytes that are not UTF-8. */
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
	bool is_control; /* C0, DEL, C1, or is_order */
	/* A bidirectional control (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+206F), or
	 * a separator of lines or paragraphs (U+2028, U+2029).  Escapes do not make it safe: who
	 * decodes a JSON text shows it. */
	bool is_order;
} mw_character_t;

/* Returns is_order of a code point. */
bool mw_text_is_order(uint32_t code);

/* Returns the first character of `text`, which is not empty. */
mw_character_t mw_text_character(const char *text);

/* Replaces each unsafe character by '?', except control characters listed in `kept`.  The text
 * never gets longer.  Returns `text`. */
char *mw_text_clean(char *text, const char *kept);

/* Prints `text` with each unsafe character as '?'. */
void mw_text_print(FILE *out, const char *text);

#endif
