/* SPDX-License-Identifier: MIT
 * wrappers.h -- allocation wrappers: functions such as xmalloc() that allocate for their callers.
 * Layer: view/select.
 * A function at the inner end of a stack is a wrapper if
 * - a row of wrappers.def names it, or
 * - it has "alloc" in its name and behaves like one: at least three other functions allocate
 *   through it, and it never calls anything that allocates besides wrappers. */
#ifndef MW_TOOL_VIEW_SELECT_WRAPPERS_H
#define MW_TOOL_VIEW_SELECT_WRAPPERS_H

#include "model/profile.h"

/* Removes the wrappers at the inner end of each stack, so that the flat value goes to the
 * function that wanted the memory.  A stack of wrappers only keeps its outermost frame.  Returns
 * how many samples were changed. */
size_t mw_wrappers_cut(mw_profile_t *profile);

#endif
