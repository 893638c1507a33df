/* SPDX-License-Identifier: MIT
 * style.h -- colours of tables, when they go to a terminal that wants them.
 * Layer: tools/report.  One answer for the whole run; off until somebody switches it on. */
#ifndef MW_TOOL_REPORT_STYLE_H
#define MW_TOOL_REPORT_STYLE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum mw_style {
	MW_STYLE_PLAIN, /* ends any other */
	MW_STYLE_HEAD,  /* names of columns */
	MW_STYLE_HOT,   /* much of the total */
	MW_STYLE_WARM,  /* some of it */
	MW_STYLE_GOOD,
	MW_STYLE_BAD,
} mw_style_t;

void mw_style_allow(bool allowed);

/* What begins a style: an escape sequence that takes no column, or "". */
const char *mw_style(mw_style_t style);

/* Of a row with so much of the total. */
mw_style_t mw_style_of_share(int64_t value, int64_t total);

#endif
