/* SPDX-License-Identifier: MIT
 * known.h -- removes the stacks of known.def: memory that libraries keep on purpose until the
 * process ends.
 * Layer: check. */
#ifndef MW_TOOL_CHECK_KNOWN_H
#define MW_TOOL_CHECK_KNOWN_H

#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"

/* Memory that was removed under one name of known.def. */
typedef struct mw_known {
	const char *what;
	int64_t objects, bytes; /* in use */
} mw_known_t;

enum { MW_KNOWN_MAX = 32 };

/* Removes the samples of stacks that known.def lists.  Fills in one entry of `left_out` for each
 * name under which samples were removed.  Returns the number of entries. */
size_t mw_known_leave_out(mw_profile_t *profile, mw_known_t left_out[MW_KNOWN_MAX]);

#endif
