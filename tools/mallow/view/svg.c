/* SPDX-License-Identifier: MIT
 * svg.c -- text in pictures. */
#include "view/svg.h"

#include "view/json.h"

void mw_svg_text(FILE *out, const char *text) {
	while (*text != '\0') {
		unsigned char c = (unsigned char)*text;
		size_t length = mw_utf8_length(text);
		if (c == '<' || c == '&')
			fputs(c == '<' ? "&lt;" : "&amp;", out);
		else if (c < ' ' || c == 0x7f || length == 0)
			fputc('?', out);
		else
			fwrite(text, 1, length, out);
		text += length > 0 ? length : 1;
	}
}
