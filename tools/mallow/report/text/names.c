/* SPDX-License-Identifier: MIT
 * names.c -- shortens names to a width. */
#include "report/text/names.h"

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

/* Returns the name of a lambda among template arguments, "main::{lambda()#1}", and its length in
 * *length; NULL = there is none. */
static const char *lambda_among(const char *arguments, const char *end, size_t *length) {
	static const char word[] = "{lambda";
	const char *at = memmem(arguments, (size_t)(end - arguments), word, strlen(word));
	const char *stop = at != NULL ? memchr(at, '}', (size_t)(end - at)) : NULL;
	if (stop == NULL)
		return NULL;
	int depth = 0;
	for (; at > arguments && (depth > 0 || strchr("<, ", at[-1]) == NULL); at--)
		depth += (at[-1] == ')') - (at[-1] == '(');
	*length = (size_t)(stop + 1 - at);
	return at;
}

/* Writes "<...>" for template arguments, with one character for the dots.  A lambda says whose
 * code the function holds: its name stays.  Returns the bytes written. */
static size_t write_dots(const char *arguments, const char *end, char *buffer, size_t size) {
	size_t length;
	const char *lambda = lambda_among(arguments, end, &length);
	if (lambda != NULL && length + sizeof("<" ELLIPSIS ELLIPSIS ">") <= size)
		return (size_t)snprintf(buffer, size, "<" ELLIPSIS "%.*s" ELLIPSIS ">", (int)length,
					lambda);
	return (size_t)snprintf(buffer, size, "<" ELLIPSIS ">");
}

/* Returns the end of a tag such as "[abi:cxx11]" that begins at `text`; `text` if none does. */
static const char *skip_tag(const char *text) {
	static const char begin[] = "[abi:";
	const char *end = strncmp(text, begin, strlen(begin)) == 0 ? strchr(text, ']') : NULL;
	return end != NULL ? end + 1 : text;
}

void mw_name_without_arguments(const char *name, char *buffer, size_t size) {
	static const char operator_word[] = "operator";
	size_t used = 0;
	const char *at = name;
	while (*at != '\0' && used + sizeof("<" ELLIPSIS ">") < size) {
		const char *behind = skip_tag(at);
		if (behind > at) {
			at = behind;
			continue;
		}
		bool is_operator = at - name >= (ptrdiff_t)strlen(operator_word) &&
				   strncmp(at - strlen(operator_word), operator_word,
					   strlen(operator_word)) == 0;
		const char *end =
			*at == '<' && at > name && !is_operator ? skip_arguments(at) : NULL;
		if (end != NULL) {
			used += write_dots(at, end, buffer + used, size - used);
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

/* Returns the end of the parameters that begin at text[0] == '(', or NULL. */
static const char *skip_parameters(const char *text) {
	int depth = 0;
	for (; *text != '\0'; text++) {
		if (*text == '(')
			depth++;
		else if (*text == ')' && --depth == 0)
			return text + 1;
	}
	return NULL;
}

/* Returns the length of the operator's name at `text`, which follows the word "operator": 2 of
 * "<<(std::ostream&)". 0 = a conversion, such as " bool". */
static size_t operator_length(const char *text) {
	static const char *const symbols[] = {
		"()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "==", "!=",
		"&&", "||", "++",  "--",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^=", "<",
		">",  "+",  "-",   "*",   "/",   "%",   "&",  "|",  "^",  "~",  "!",  "=",  ",",
	};
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		if (strncmp(text, symbols[i], strlen(symbols[i])) == 0)
			return strlen(symbols[i]);
	return 0;
}

/* Returns the end of what stays whole at this place of a name: an operator's name, or "(anonymous
 * namespace)"; `at` if nothing does. */
static const char *end_of_whole(const char *name, const char *at) {
	static const char operator_word[] = "operator", anonymous[] = "(anonymous namespace)";
	size_t length = strlen(operator_word);
	bool is_word = at == name || at[-1] == ':' || at[-1] == ' ';
	if (is_word && strncmp(at, operator_word, length) == 0)
		return at + length + operator_length(at + length);
	return strncmp(at, anonymous, strlen(anonymous)) == 0 ? at + strlen(anonymous) : at;
}

void mw_bare_name(const char *name, char *buffer, size_t size) {
	size_t used = 0;
	const char *at = name;
	while (*at != '\0' && used + 1 < size && strncmp(at, " [clone ", 8) != 0) {
		const char *whole = end_of_whole(name, at), *behind = skip_tag(at);
		const char *end = *at == '<' && at > name ? skip_arguments(at)
				  : *at == '('            ? skip_parameters(at)
							  : NULL;
		if (behind > at) {
			at = behind;
		} else if (whole > at) {
			size_t length = (size_t)(whole - at);
			length = length < size - 1 - used ? length : size - 1 - used;
			memcpy(buffer + used, at, length);
			used += length;
			at = whole;
		} else if (end != NULL) {
			/* What follows parameters, such as " const", belongs to them. */
			if (*at == '(' && *end != ':')
				break;
			at = end;
		} else {
			buffer[used++] = *at++;
		}
	}
	/* libiberty separates operator< and its arguments by a space. */
	while (used > 0 && buffer[used - 1] == ' ')
		used--;
	buffer[used] = '\0';
}

size_t mw_text_prefix(const char *text, size_t width) {
	size_t i = 0;
	for (; text[i] != '\0'; i++)
		if (((unsigned char)text[i] & 0xc0) != 0x80 && width-- == 0)
			break;
	return i;
}

/* Columns up to which a name is whole in a text that has no width: what a terminal of 120 columns
 * has room for. */
#define SHORT_COLUMNS 80

static bool keeps_whole;

void mw_names_keep_whole(bool whole) {
	keeps_whole = whole;
}

void mw_short_name(const char *name, char *buffer, size_t size) {
	if (keeps_whole || mw_text_width(name) <= SHORT_COLUMNS)
		snprintf(buffer, size, "%s", name);
	else
		mw_name_without_arguments(name, buffer, size);
}

void mw_fit_name(const char *name, size_t width, char *buffer, size_t size) {
	snprintf(buffer, size, "%s", name);
	if (keeps_whole || mw_text_width(buffer) <= width)
		return;
	char shorter[4096];
	mw_name_without_arguments(name, shorter, sizeof(shorter));
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
