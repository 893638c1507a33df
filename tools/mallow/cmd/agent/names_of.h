/* SPDX-License-Identifier: MIT
 * names_of.h -- names of functions that one profile of a process has, for another one.
 * Layer: cmd/agent.  What was pushed is kept and compared without names: the names of a file may
 * have become known in between. */
#ifndef MW_TOOL_CMD_AGENT_NAMES_OF_H
#define MW_TOOL_CMD_AGENT_NAMES_OF_H

#include "model/profile.h"

/* Removes the names of locations in files; functions of scripts keep theirs, which come from the
 * process. */
void mw_names_forget(mw_profile_t *profile);
/* Gives locations without names those that an equal address of the same file has in `named`. */
void mw_names_take(mw_profile_t *profile, const mw_profile_t *named);

#endif
