/* SPDX-License-Identifier: MIT
 * merge.h -- adds, subtracts and copies profiles.
 * Layer: model. */
#ifndef MW_TOOL_MODEL_MERGE_H
#define MW_TOOL_MODEL_MERGE_H

#include <stdbool.h>

#include "model/profile.h"

/* mw_profile_add() and mw_profile_subtract() append the samples of `from` to those of `to`.
 * Sample types are matched by name.  Two locations are equal when they are at one place of one
 * file, so equal stacks of two processes of one build are merged.  Stacks of different builds
 * are merged only in a view, by their functions' names. */
void mw_profile_add(mw_profile_t *to, const mw_profile_t *from);
void mw_profile_subtract(mw_profile_t *profile, const mw_profile_t *base);

/* Scales the values of `profile` so that each type's total equals the total in `base`. */
void mw_profile_normalize(mw_profile_t *profile, const mw_profile_t *base);

/* Keeps the sample types of `profile` that `other` has, too, and drops the rest.  Returns how
 * many types are kept.  If no type is common, `profile` is not changed. */
size_t mw_profile_keep_types_of(mw_profile_t *profile, const mw_profile_t *other);

/* Returns a complete copy.  The caller frees the copy. */
mw_profile_t *mw_profile_copy(const mw_profile_t *profile);

/* Removes the labels of all samples, so that mw_profile_combine() merges samples of equal
 * frames.  Threads and ages of two runs would otherwise keep the samples of the runs apart. */
void mw_profile_forget_labels(mw_profile_t *profile);

/* Merges samples of equal frames and labels into one. */
void mw_profile_combine(mw_profile_t *profile);

#endif
