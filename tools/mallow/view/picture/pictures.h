/* SPDX-License-Identifier: MIT
 * pictures.h -- views that mallow or another viewer draws.
 * Layer: view/picture.  The folder's door.  The timeline has its own header, because it shows a
 * series and not a profile. Reading order: dot.c (graph), calltree.h (the tree behind flame.c and
 * flame_svg.c), exports.c (speedscope, callgrind), timeline_axis.c, timeline_text.c,
 * timeline_svg.c. */
#ifndef MW_TOOL_VIEW_PICTURE_PICTURES_H
#define MW_TOOL_VIEW_PICTURE_PICTURES_H

#include "view/common/view.h"

mw_view_print_t mw_view_dot;        /* for graphviz */
mw_view_print_t mw_view_flame;      /* an HTML file, or a picture */
mw_view_print_t mw_view_speedscope; /* for speedscope.app */
mw_view_print_t mw_view_callgrind;  /* for kcachegrind and callgrind_annotate */

#endif
