/* SPDX-License-Identifier: MIT
 * mapping_owners.h -- names the calls of the program that mapped the memory which `mallow status`
 * counts as other mappings.
 * Layer: cmd/memory. */
#ifndef MW_TOOL_CMD_MEMORY_MAPPING_OWNERS_H
#define MW_TOOL_CMD_MEMORY_MAPPING_OWNERS_H

#include <jansson.h>

#include "formats/state/state_file.h"
#include "live/process/resident_memory.h"

/* Prints a line for each owner; nothing if there is none.  `pid`: where the program's files are
 * seen. */
void mw_mapping_owners_print(const mw_snapshot_t *snapshot, const mw_memory_t *memory, int pid);
/* Returns a list of objects with bytes and the names of the stack's functions, leaf first. */
json_t *mw_mapping_owners_json(const mw_snapshot_t *snapshot, const mw_memory_t *memory, int pid);

#endif
