/* SPDX-License-Identifier: MIT
 * check_snapshot.h -- checks that what entries of a snapshot refer to exists.
 * Layer: formats/state.  Private to this folder. */
#ifndef MW_TOOL_FORMATS_STATE_CHECK_SNAPSHOT_H
#define MW_TOOL_FORMATS_STATE_CHECK_SNAPSHOT_H

#include "formats/state/state_file.h"

/* Empties stacks whose nodes are damaged, and drops damaged lists of sizes. */
void mw_snapshot_check_stacks(mw_snapshot_t *snapshot);
/* CPU samples of stacks that do not exist become samples of the unknown stack, number 0. */
void mw_snapshot_check_cpu(mw_snapshot_t *snapshot);

#endif
