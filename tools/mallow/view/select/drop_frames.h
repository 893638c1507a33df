/* SPDX-License-Identifier: MIT
 * drop_frames.h -- removes the frames of the allocator by profile->drop_frames.
 * Layer: view/select. */
#ifndef MW_TOOL_VIEW_SELECT_DROP_FRAMES_H
#define MW_TOOL_VIEW_SELECT_DROP_FRAMES_H

#include "model/error.h"
#include "model/profile.h"

/* Removes from each stack the outermost function that drop_frames matches and keep_frames does
 * not, with all frames that it calls, as pprof does.  Matching functions at the outer end of a
 * stack, before the first other function, stay.  Names are matched as a whole, without
 * parameters.  Names must have been looked up; functions without names stay. -1: a pattern is
 * invalid, and nothing was removed. */
int mw_drop_frames(mw_profile_t *profile, mw_error_t *error);

#endif
