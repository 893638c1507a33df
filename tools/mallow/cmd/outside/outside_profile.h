/* SPDX-License-Identifier: MIT
 * outside_profile.h -- makes a profile of what was sampled from outside.
 * Layer: cmd/outside. */
#ifndef MW_TOOL_CMD_OUTSIDE_OUTSIDE_PROFILE_H
#define MW_TOOL_CMD_OUTSIDE_OUTSIDE_PROFILE_H

#include <stdbool.h>

#include "cmd/outside/outside_session.h"
#include "model/profile.h"

/* Returns a heap profile without names.  `only_old`: in use is what is older than
 * options.older_seconds, with the label MW_LABEL_OLDEST; stacks without such blocks are left out.
 * The caller frees it. */
mw_profile_t *mw_outside_profile(const mw_outside_session_t *session, bool only_old);

/* Returns a profile of CPU time without names.  The caller frees it. */
mw_profile_t *mw_outside_cpu_profile(const mw_outside_session_t *session);

#endif
