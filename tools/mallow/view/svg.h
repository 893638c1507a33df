/* SPDX-License-Identifier: MIT
 * svg.h -- what the pictures that are written without graphviz have in common.
 * Layer: tools/view.  Private to this folder. */
#ifndef MW_TOOL_VIEW_SVG_H
#define MW_TOOL_VIEW_SVG_H

#include <stdio.h>

/* Text as XML has it.  Bytes that are none of ASCII's characters become '?': names come from files,
 * and what is no UTF-8 is no XML. */
void mw_svg_text(FILE *out, const char *text);

#endif
