/* SPDX-License-Identifier: MIT
 * jit_name.c -- "JS:*pack /srv/app.js:2:45", "int Main.pack(byte[])", "py::pack:/srv/app.py". */
#include "symbol/jit_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* V8 writes one of these tags before the name of a script's function. */
static const char *const v8_tags[] = {
	"JS:", "Function:", "LazyCompile:", "Eval:", "Script:", "Callback:"};
/* Behind the tag: how the code was compiled. */
#define V8_TIERS "~^*+-"

/* Returns where ":45" begins at the end of the first `length` bytes; NULL: there is no such number.
 */
static char *number_at(char *text, size_t length) {
	size_t digits = 0;
	while (digits < length && isdigit((unsigned char)text[length - digits - 1]))
		digits++;
	/* More than 9 digits are no line. */
	if (digits == 0 || digits > 9 || digits == length || text[length - digits - 1] != ':')
		return NULL;
	return text + length - digits - 1;
}

/* Returns where the source begins behind the function's name, which may have blanks, as may the
 * source. */
static char *source_in(char *text) {
	static const char *const beginnings[] = {" /", " file:", " node:"};
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
		char *found = strstr(text, beginnings[i]);
		if (found)
			return found;
	}
	return strrchr(text, ' ');
}

static bool parse_v8(char *text, mw_jit_name_t *out) {
	char *name = NULL;
	for (size_t i = 0; i < sizeof(v8_tags) / sizeof(v8_tags[0]) && !name; i++)
		if (strncmp(text, v8_tags[i], strlen(v8_tags[i])) == 0)
			name = text + strlen(v8_tags[i]);
	if (!name)
		return false;
	name += strspn(name, V8_TIERS);
	char *source = source_in(name);
	char *column = source ? number_at(source, strlen(source)) : NULL;
	char *line = column ? number_at(source, (size_t)(column - source)) : NULL;
	if (!line)
		return false;
	*line++ = *column++ = '\0';
	*source++ = '\0';
	if (strncmp(source, "file://", 7) == 0)
		source += 7;
	const char *slash = *source == '/' ? strrchr(source, '/') + 1 : source;
	snprintf(out->name, sizeof(out->name), "%s %s:%s:%s", *name ? name : "(anonymous)", slash,
		 line, column);
	out->file = source;
	out->line = atoll(line);
	out->module = "[javascript]";
	return true;
}

/* "py::Class.method:/srv/app.py". */
static bool parse_python(char *text, mw_jit_name_t *out) {
	char *colon = strncmp(text, "py::", 4) == 0 ? strchr(text + 4, ':') : NULL;
	if (!colon)
		return false;
	*colon = '\0';
	snprintf(out->name, sizeof(out->name), "%s", text + 4);
	out->file = colon + 1;
	out->module = "[python]";
	return true;
}

/* A method with its result and arguments: not "StubRoutines (1)". */
static bool is_java(const char *text) {
	const char *arguments = strchr(text, '('), *blank = strchr(text, ' ');
	size_t length = strlen(text);
	if (!arguments || !blank || blank > arguments || text[length - 1] != ')')
		return false;
	while (arguments > blank && *arguments != '.')
		arguments--;
	return *arguments == '.';
}

void mw_jit_name_parse(char *text, mw_jit_name_t *out) {
	out->file = NULL;
	out->line = 0;
	out->module = NULL;
	if (parse_v8(text, out) || parse_python(text, out))
		return;
	snprintf(out->name, sizeof(out->name), "%s", text);
	if (is_java(text))
		out->module = "[java]";
}
