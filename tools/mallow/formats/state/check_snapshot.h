/* SPDX-License-Identifier: MIT
 * check_snapshot.h -- checks that sections fit, and that what entries of a snapshot refer to
 * exists. Layer: formats/state.  Private to this folder. */
#ifndef MW_TOOL_FORMATS_STATE_CHECK_SNAPSHOT_H
#define MW_TOOL_FORMATS_STATE_CHECK_SNAPSHOT_H

#include "formats/state/state_file.h"

/* The section's name for messages. */
const char *mw_snapshot_section_name(mw_state_section_id_t id);
/* Refuses sections that exceed the file or overlap.  `name`: of the file, for the message. */
int mw_snapshot_check_sections(const mw_state_header_t *header, const char *name,
			       mw_error_t *error);
/* Empties stacks whose nodes are damaged, and drops damaged lists of sizes. */
void mw_snapshot_check_stacks(mw_snapshot_t *snapshot);
/* CPU samples of stacks that do not exist become samples of the unknown stack, number 0. */
void mw_snapshot_check_cpu(mw_snapshot_t *snapshot);

#endif
