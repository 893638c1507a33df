/* SPDX-License-Identifier: MIT
 * leaks_holders.h -- groups blocks by the variable, mapping or thread that holds them, and the
 * blocks of one holder by the block that they hang on, and by the stack that allocated them. Layer:
 * cmd/leaks. */
#ifndef MW_TOOL_CMD_LEAKS_LEAKS_HOLDERS_H
#define MW_TOOL_CMD_LEAKS_LEAKS_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"

typedef struct mw_held_group {
	/* The holder's, or that of the function that allocated the block between; NULL: the group
	 * is a stack's. */
	const char *name;
	size_t sample;     /* the first one of the group */
	size_t row, count; /* its blocks, for mw_holders_through() and mw_holders_stacks() */
	int64_t bytes, objects;
} mw_held_group_t;

/* The group with the most bytes first. */
typedef struct mw_held_groups {
	mw_held_group_t *all;
	size_t count;
} mw_held_groups_t;

typedef struct mw_holders mw_holders_t;

/* Of the stack of the block that leads to another, keeps one frame: the function that wanted the
 * memory, or malloc's caller.  `profile` is mw_profile_of_held(), with names; the functions below
 * expect that this was done. */
void mw_holders_keep_one(mw_profile_t *profile, bool skips_wrappers);

/* Removes wrappers from the stacks that allocated the blocks, as mw_wrappers_cut() does.  `profile`
 * is mw_profile_of_held(), with names. */
void mw_holders_cut_wrappers(mw_profile_t *profile);

/* `profile` is mw_profile_of_held(), with names, and must outlive the holders. */
mw_holders_t *mw_holders_new(const mw_profile_t *profile);
void mw_holders_free(mw_holders_t *holders);

/* Each returns groups whose `all` the caller frees, and whose names live as long as the holders. */
mw_held_groups_t mw_holders_roots(mw_holders_t *holders);
/* Groups the blocks of one root that hang on another sampled block, by the function that allocated
 * that. */
mw_held_groups_t mw_holders_through(mw_holders_t *holders, const mw_held_group_t *root);
mw_held_groups_t mw_holders_stacks(mw_holders_t *holders, const mw_held_group_t *root);

/* Returns the sample with the stack that allocated the block, without those who hold it. */
mw_sample_t mw_holders_allocation(const mw_holders_t *holders, size_t sample);
/* "data", "stack" or "registers". */
const char *mw_holders_kind(const mw_profile_t *profile, size_t sample);

#endif
