/* SPDX-License-Identifier: MIT
 * made_times.h -- times at which the live objects of a mark were allocated (MW_LABEL_MADE).
 * Layer: cmd/input.  Views do not show the label.  It is removed after a mark was read. */
#ifndef MW_TOOL_CMD_INPUT_MADE_TIMES_H
#define MW_TOOL_CMD_INPUT_MADE_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/profile.h"

bool mw_made_times_known(const mw_profile_t *profile);

/* Keeps the samples of live objects allocated at or after `from_ns` and before `until_ns`
 * (CLOCK_REALTIME).  Values of allocated and freed objects are removed. */
void mw_made_times_keep(mw_profile_t *profile, int64_t from_ns, int64_t until_ns);

/* Removes the label, and adds up samples that only the label distinguished. */
void mw_made_times_forget(mw_profile_t *profile);

#endif
