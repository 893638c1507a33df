/* SPDX-License-Identifier: MIT
 * svg.h -- shared code of the pictures that are written without graphviz.
 * Layer: view/common.  Private to view/. */
#ifndef MW_TOOL_VIEW_COMMON_SVG_H
#define MW_TOOL_VIEW_COMMON_SVG_H

#include <stdio.h>

/* Writes text escaped for XML. Every byte that is not a printable ASCII character becomes '?',
 * because names come from files that may be hostile. */
void mw_svg_text(FILE *out, const char *text);

#endif
