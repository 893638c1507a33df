/* SPDX-License-Identifier: MIT
 * page.h -- the web pages that are part of the command, each one file with its data in it.
 * Layer: tools/view.  Private to this folder. */
#ifndef MW_TOOL_VIEW_PAGE_H
#define MW_TOOL_VIEW_PAGE_H

#include <stdio.h>

#include "model/error.h"

typedef enum mw_page {
	MW_PAGE_FLAME,
	MW_PAGE_TIMELINE,
	MW_PAGE_WEBLIST,
	MW_PAGE_COUNT,
} mw_page_t;

/* What stands before the data (JSON, with no '<' in it), and behind. */
int mw_page_begin(mw_page_t page, FILE *out, mw_error_t *error);
void mw_page_end(mw_page_t page, FILE *out);

#endif
