/* SPDX-License-Identifier: MIT
 * names.c -- shortens names to a width. */
#include "report/text/names.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ELLIPSIS "\u2026"

size_t mw_text_width(const char *text) {
	size_t width = 0;
	for (; *text != '\0'; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

/* Returns the end of the template arguments that begin at text[0] == '<', or NULL. */
static const char *skip_arguments(const char *text) {
	int depth = 0;
	for (; *text != '\0'; text++) {
		if (*text == '<')
			depth++;
		else if (*text == '>' && text[-1] != '-' && --depth == 0)
			return text + 1;
	}
	return NULL;
}

/* Removes template arguments: "map<string, int>::find" becomes "map<...>::find", with one
 * character for the dots. operator< and Rust's leading <T as Trait> stay. */
static void drop_arguments(const char *name, char *buffer, size_t size) {
	static const char operator_word[] = "operator";
	size_t used = 0;
	const char *at = name;
	while (*at != '\0' && used + sizeof("<" ELLIPSIS ">") < size) {
		bool is_operator = at - name >= (ptrdiff_t)strlen(operator_word) &&
				   strncmp(at - strlen(operator_word), operator_word,
					   strlen(operator_word)) == 0;
		const char *end =
			*at == '<' && at > name && !is_operator ? skip_arguments(at) : NULL;
		if (end != NULL) {
			memcpy(buffer + used, "<" ELLIPSIS ">", strlen("<" ELLIPSIS ">"));
			used += strlen("<" ELLIPSIS ">");
			at = end;
			continue;
		}
		buffer[used++] = *at++;
		/* The second '<' of operator<< begins no arguments either. */
		if (is_operator && at[-1] == '<' && *at == '<')
			buffer[used++] = *at++;
	}
	buffer[used] = '\0';
}

size_t mw_text_prefix(const char *text, size_t width) {
	size_t i = 0;
	for (; text[i] != '\0'; i++)
		if (((unsigned char)text[i] & 0xc0) != 0x80 && width-- == 0)
			break;
	return i;
}

void mw_fit_name(const char *name, size_t width, char *buffer, size_t size) {
	snprintf(buffer, size, "%s", name);
	if (mw_text_width(buffer) <= width)
		return;
	char shorter[4096];
	drop_arguments(name, shorter, sizeof(shorter));
	size_t columns = mw_text_width(shorter);
	snprintf(buffer, size, "%s", shorter);
	if (columns <= width)
		return;
	/* The name is cut in the middle, because its begin (namespace) and its end (function)
	 * are both useful. */
	size_t head = mw_text_prefix(shorter, (width - 1) / 2);
	size_t tail = mw_text_prefix(shorter, columns - (width - 1 - (width - 1) / 2));
	/* Removed arguments leave dots, which are not doubled. */
	size_t dots = strlen(ELLIPSIS);
	bool has_dots = strncmp(shorter + tail, ELLIPSIS, dots) == 0 ||
			(head >= dots && strncmp(shorter + head - dots, ELLIPSIS, dots) == 0);
	snprintf(buffer, size, "%.*s%s%s", (int)head, shorter, has_dots ? "" : ELLIPSIS,
		 shorter + tail);
}

/* Narrowest terminal for all numbers, and for two, with at least sixteen columns of name. */
#define ALL_COLUMNS 64
#define TWO_COLUMNS 40

mw_room_t mw_room_of(int columns) {
	return columns == 0 || columns >= ALL_COLUMNS ? MW_ROOM_ALL
	       : columns >= TWO_COLUMNS               ? MW_ROOM_TWO
						      : MW_ROOM_ONE;
}
