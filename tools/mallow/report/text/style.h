/* SPDX-License-Identifier: MIT
 * style.h -- colours of tables.
 * Layer: report/text.  Colours are off until they are switched on for the whole run. */
#ifndef MW_TOOL_REPORT_TEXT_STYLE_H
#define MW_TOOL_REPORT_TEXT_STYLE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum mw_style {
	MW_STYLE_PLAIN, /* ends any other style */
	MW_STYLE_HEAD,  /* names of columns */
	MW_STYLE_HOT,   /* a large share of the total */
	MW_STYLE_WARM,  /* a notable share of the total */
	MW_STYLE_GOOD,
	MW_STYLE_BAD,
} mw_style_t;

void mw_style_allow(bool allowed);

/* Returns the escape sequence that begins a style, which takes no column; "" = colours are off. */
const char *mw_style(mw_style_t style);

/* Returns the style of a row with this value. */
mw_style_t mw_style_of_share(int64_t value, int64_t total);

#endif
