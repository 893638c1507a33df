/* SPDX-License-Identifier: MIT
 * svg.c -- text in pictures. */
#include "view/svg.h"

void mw_svg_text(FILE *out, const char *text) {
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;
		if (c == '<' || c == '&')
			fputs(c == '<' ? "&lt;" : "&amp;", out);
		else
			fputc(c < ' ' || c >= 0x7f ? '?' : c, out);
	}
}
