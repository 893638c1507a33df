/* SPDX-License-Identifier: MIT
 * listings.h -- the views of source and instructions.
 * Layer: view/code.  The folder's door. listing.h finds source lines, assembly.h instructions;
 * list.c, disasm.c and weblist.c print them. */
#ifndef MW_TOOL_VIEW_CODE_LISTINGS_H
#define MW_TOOL_VIEW_CODE_LISTINGS_H

#include "view/common/view.h"

mw_view_print_t mw_view_list; /* source lines with their bytes */
/* Source and instructions as a web page: a click on a line shows its instructions. */
mw_view_print_t mw_view_weblist;
mw_view_print_t mw_view_disasm; /* instructions with their bytes */

#endif
