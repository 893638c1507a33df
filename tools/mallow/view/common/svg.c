/* SPDX-License-Identifier: MIT
 * svg.c -- writes text into SVG pictures. */
#include "view/common/svg.h"

#include "model/text.h"

void mw_svg_text(FILE *out, const char *text) {
	for (; *text != '\0'; text += mw_text_character(text).bytes) {
		mw_character_t c = mw_text_character(text);
		if (c.code == '<' || c.code == '&')
			fputs(c.code == '<' ? "&lt;" : "&amp;", out);
		else if (c.is_control || !c.is_utf8)
			fputc('?', out);
		else
			fwrite(text, 1, c.bytes, out);
	}
}
