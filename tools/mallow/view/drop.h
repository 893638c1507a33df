/* SPDX-License-Identifier: MIT
 * drop.h -- leaves out the frames of the allocator, as profile->drop_frames tells them.
 * Layer: tools/view. */
#ifndef MW_TOOL_VIEW_DROP_H
#define MW_TOOL_VIEW_DROP_H

#include "model/error.h"
#include "model/profile.h"

/* Each stack ends at the caller of the outermost function that drop_frames matches and keep_frames
 * does not, as pprof has it: names are matched as a whole, without parameters, and what is outside
 * of all others is never cut.  Names must be there already; needs none of them.  -1: a pattern is
 * none, and nothing was left out. */
int mw_drop_frames(mw_profile_t *profile, mw_error_t *error);

#endif
