/* SPDX-License-Identifier: MIT
 * status_memory.h -- the part of `mallow status` that accounts for resident memory.
 * Layer: cmd. */
#ifndef MW_CMD_STATUS_MEMORY_H
#define MW_CMD_STATUS_MEMORY_H

#include <jansson.h>

#include "live/memory.h"

void mw_print_memory(const mw_memory_t *memory);
json_t *mw_memory_json(const mw_memory_t *memory);

#endif
