/* SPDX-License-Identifier: MIT
 * merge.h -- profiles added to each other, subtracted, copied.
 * Layer: tools/model. */
#ifndef MW_TOOL_MODEL_MERGE_H
#define MW_TOOL_MODEL_MERGE_H

#include <stdbool.h>

#include "model/profile.h"

/* Both put the samples of the second behind those of the first; sample types are matched by name.
 * Locations are matched by the place in their module's file, so the samples of two processes of one
 * build meet; others do by their functions' names in a view. */
void mw_profile_add(mw_profile_t *to, const mw_profile_t *from);
void mw_profile_subtract(mw_profile_t *profile, const mw_profile_t *base);

/* Scales the values of `profile` so that it has the totals of `base`, type by type. */
void mw_profile_normalize(mw_profile_t *profile, const mw_profile_t *base);

/* Leaves the sample types that `other` has, too.  Returns how many; when there are none, `profile`
 * is not changed. */
size_t mw_profile_keep_types_of(mw_profile_t *profile, const mw_profile_t *other);

/* All of it.  The caller frees it. */
mw_profile_t *mw_profile_copy(const mw_profile_t *profile);

/* Of all samples, so that those of the same frames meet: threads and ages of two runs never do. */
void mw_profile_forget_labels(mw_profile_t *profile);

/* Sums up samples of the same frames and labels. */
void mw_profile_combine(mw_profile_t *profile);

#endif
