/* SPDX-License-Identifier: MIT
 * delta.h -- what a push holds: values of the moment, and counts since the last push.
 * Layer: push. */
#ifndef MW_TOOL_PUSH_DELTA_H
#define MW_TOOL_PUSH_DELTA_H

#include "model/profile.h"
#include "store/kind.h"

/* Keeps what is pushed of a profile as one kind: the kind's types, without labels, each stack once,
 * stacks without a value left out.  False: the profile has none of the types, and is unchanged. */
bool mw_delta_prepare(mw_profile_t *profile, mw_kind_t kind);

/* Subtracts the counts of an earlier profile of the same process from those of `profile`; both were
 * prepared and have no names.  Values of the moment stay.  A type whose sum has fallen was set to
 * zero in between (`mallow reset`), and is not subtracted; if both profiles say since when they
 * count and that differs, no type is.  A stack that the process has given up since counts as
 * unknown there: no value becomes negative, and the sums are exact.  Sets duration_ns to the time
 * between the two; 0 = the clock was set back. */
void mw_delta_subtract(mw_profile_t *profile, const mw_profile_t *earlier);

#endif
