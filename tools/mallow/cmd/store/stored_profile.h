/* SPDX-License-Identifier: MIT
 * stored_profile.h -- a profile of a store, for all views.
 * Layer: cmd/store.  The folder's door.  question.h says what the user's text means, services.c and
 * search.c are `mallow services` and `mallow search`. */
#ifndef MW_TOOL_CMD_STORE_STORED_PROFILE_H
#define MW_TOOL_CMD_STORE_STORED_PROFILE_H

#include "cmd/store/question.h"
#include "model/error.h"
#include "model/profile.h"

/* Most stacks of one profile; the sum of all others is the frame "[other]". */
#define MW_STORED_STACKS_MAX 20000

/* Loads the profile that the text means (mw_question_parse()).  At a time: the sum of the newest
 * profiles of all processes.  Over a range of time: live bytes are the mean of a process's
 * profiles, what was allocated or used since is added up.  `standard` is the kind if the text names
 * none. Returns 0: the caller frees *out. */
int mw_stored_profile(const char *text, mw_kind_t standard, mw_profile_t **out, mw_error_t *error);

/* Loads sums over time, one for each step that has profiles.  The caller frees *points. */
int mw_stored_timeline(const char *text, mw_point_t **points, size_t *count, mw_kind_t *kind,
		       mw_error_t *error);
/* Returns what the processes of the point had at one moment, or used in the step. */
int64_t mw_point_value(const mw_point_t *point, int value);

#endif
