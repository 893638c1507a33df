/* SPDX-License-Identifier: MIT
 * parts.h -- one entry a stack, whatever threads have of their own.
 * Layer: tools/read. */
#ifndef MW_TOOL_READ_PARTS_H
#define MW_TOOL_READ_PARTS_H

#include "read/state_file.h"

/* Adds what the parts of stacks count to the whole ones, to which their records go, too, and leaves
 * the parts without counts. */
void mw_parts_fold(mw_snapshot_t *snapshot);

#endif
