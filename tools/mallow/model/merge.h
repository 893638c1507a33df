/* SPDX-License-Identifier: MIT
 * merge.h -- one profile less another.
 * Layer: tools/model. */
#ifndef MW_TOOL_MODEL_MERGE_H
#define MW_TOOL_MODEL_MERGE_H

#include <stdbool.h>

#include "model/profile.h"

/* Adds the samples of `base`, negated, behind those of `profile`; sample types are matched by name.
 * Locations are matched by module and address, so the samples of two moments of one process meet;
 * those of two processes meet by their functions' names in a view.  `normalize`: the base is scaled
 * to the total of `profile` first, type by type. */
void mw_profile_subtract(mw_profile_t *profile, const mw_profile_t *base, bool normalize);

/* Sums up samples of the same frames and labels. */
void mw_profile_combine(mw_profile_t *profile);

#endif
