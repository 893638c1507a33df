/* SPDX-License-Identifier: MIT
 * names.c -- makes names fit. */
#include "report/names.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define ELLIPSIS "\u2026"

/* The path below the directory we are in, or the whole. */
static const char *below_here(const char *path) {
	static char directory[4096];
	if (directory[0] == '\0' && getcwd(directory, sizeof(directory) - 1) != NULL)
		strcat(directory, "/");
	size_t length = strlen(directory);
	return length > 1 && strncmp(path, directory, length) == 0 ? path + length : path;
}

void mw_report_place(const mw_profile_t *profile, const mw_row_t *row,
		     const mw_report_options_t *options, char *buffer, size_t size) {
	buffer[0] = '\0';
	if (row->file == 0)
		return;
	const char *file = below_here(mw_profile_string(profile, row->file));
	const char *slash = strrchr(file, '/');
	if (options->columns > 0 && slash != NULL)
		file = slash + 1;
	int length = row->line > 0 ? snprintf(buffer, size, "%s:%" PRId64, file, row->line)
				   : snprintf(buffer, size, "%s", file);
	if (!options->by_line && row->other_lines > 0 && length > 0 && (size_t)length < size)
		snprintf(buffer + length, size - (size_t)length, " (+%zu line%s)", row->other_lines,
			 row->other_lines == 1 ? "" : "s");
}

size_t mw_text_width(const char *text) {
	size_t width = 0;
	for (; *text != '\0'; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

/* The end of the template arguments that begin at text[0] == '<', or NULL. */
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

/* "map<string, int>::find" becomes "map<...>::find", with one character for the dots; operator<
 * and Rust's leading <T as Trait> stay. */
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
		/* The second character of operator<< is no bracket either. */
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
	/* Both ends tell something: the namespace and the function. */
	size_t head = mw_text_prefix(shorter, (width - 1) / 2);
	size_t tail = mw_text_prefix(shorter, columns - (width - 1 - (width - 1) / 2));
	/* Where arguments were left out there are dots already. */
	size_t dots = strlen(ELLIPSIS);
	bool has_dots = strncmp(shorter + tail, ELLIPSIS, dots) == 0 ||
			(head >= dots && strncmp(shorter + head - dots, ELLIPSIS, dots) == 0);
	snprintf(buffer, size, "%.*s%s%s", (int)head, shorter, has_dots ? "" : ELLIPSIS,
		 shorter + tail);
}

void mw_print_clean(FILE *out, const char *text) {
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;
		fputc(c < ' ' || c == 0x7f ? '?' : c, out);
	}
}

/* Below these, rows of all numbers or of two with sixteen columns of name would be folded. */
#define ALL_COLUMNS 64
#define TWO_COLUMNS 40

mw_room_t mw_room_of(int columns) {
	return columns == 0 || columns >= ALL_COLUMNS ? MW_ROOM_ALL
	       : columns >= TWO_COLUMNS               ? MW_ROOM_TWO
						      : MW_ROOM_ONE;
}
