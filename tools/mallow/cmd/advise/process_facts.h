/* SPDX-License-Identifier: MIT
 * process_facts.h -- facts that only a live process tells: resident pages, contents, stacks, CPU
 * time.
 * Layer: cmd/advise. */
#ifndef MW_TOOL_CMD_ADVISE_PROCESS_FACTS_H
#define MW_TOOL_CMD_ADVISE_PROCESS_FACTS_H

#include <stdbool.h>

#include "advise/facts.h"
#include "live/target.h"

/* Returns when the process last wrote to its state file (CLOCK_REALTIME), which it does when a
 * thread needs memory; 0: not known. */
int64_t mw_process_updated_ns(const mw_target_t *target);

/* Has the process walk its heap, also if it sleeps: then one of its threads is woken. */
void mw_process_walk(const mw_target_t *target);

/* Adds to facts that mw_facts_make() made of `profile`, which was made of `snapshot`.
 * `updated_ns`: mw_process_updated_ns() before the walk.  `has_look`: also reads the contents of
 * large blocks. */
void mw_process_facts_add(mw_facts_t *facts, mw_profile_t *profile, const mw_target_t *target,
			  const mw_snapshot_t *snapshot, int64_t updated_ns, bool has_look);

#endif
