/* SPDX-License-Identifier: MIT
 * web_page.h -- web pages inside the command, each one file that contains its data, and what SVG
 * pictures share that are written without graphviz.
 * Layer: view/common. */
#ifndef MW_TOOL_VIEW_COMMON_WEB_PAGE_H
#define MW_TOOL_VIEW_COMMON_WEB_PAGE_H

#include <stdio.h>

#include "model/error.h"

typedef enum mw_web_page {
	MW_WEB_PAGE_FLAME,
	MW_WEB_PAGE_TIMELINE,
	MW_WEB_PAGE_WEBLIST,
	MW_WEB_PAGE_COUNT,
} mw_web_page_t;

/* mw_web_page_begin() writes the part before the data, which is JSON without '<'. mw_web_page_end()
 * writes the part after the data. */
int mw_web_page_begin(mw_web_page_t page, FILE *out, mw_error_t *error);
void mw_web_page_end(mw_web_page_t page, FILE *out);

/* Returns the length of the script that pans and zooms an SVG picture in a browser; *text is the
 * script.  It precedes "</svg>". */
size_t mw_web_page_svg_script(const char **text);
/* Writes text escaped for XML. Every byte that is not a printable character becomes '?', because
 * names come from files that may be hostile. */
void mw_svg_text(FILE *out, const char *text);

#endif
