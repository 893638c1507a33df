/* SPDX-License-Identifier: MIT
 * text.c -- texts of statistics. */
#include "compat/mimalloc/text.h"

#include <stdarg.h>
#include <string.h>

#include "base/fmt.h"

#define LINE_BYTES 512

void mw_mi_text_add(mw_mi_text_t *text, const char *format, ...) {
	size_t used = text->length < sizeof text->bytes ? text->length : sizeof text->bytes - 1;
	va_list args;
	va_start(args, format);
	text->length += mw_vfmt(text->bytes + used, sizeof text->bytes - used, format, args);
	va_end(args);
}

void mw_mi_text_print(const mw_mi_text_t *text, mi_output_fun *out, void *arg) {
	char line[LINE_BYTES];
	for (const char *at = text->bytes; *at;) {
		size_t length = strcspn(at, "\n") + 1;
		if (length >= sizeof line || at[length - 1] == '\0')
			length = strnlen(at, sizeof line - 1);
		memcpy(line, at, length);
		line[length] = '\0';
		if (out)
			out(line, arg);
		else
			mw_mi_print("%s", line);
		at += length;
	}
}
