/* SPDX-License-Identifier: MIT
 * module_elf.h -- reads facts about a loaded object from its headers.
 * Layer: prof/modules. Reads the object's first pages in memory, within its mapped segments
 * only. */
#ifndef MW_PROF_MODULES_MODULE_ELF_H
#define MW_PROF_MODULES_MODULE_ELF_H

#include <stdbool.h>
#include <stdint.h>

#include "state/layout.h"

/* Fills start, limit, file_offset, bias and build_id of an object that is mapped at [map_start,
 * map_limit) and begins with its ELF header. Returns false if the header is not valid. */
bool mw_module_read_elf(uintptr_t map_start, uintptr_t map_limit, mw_state_module_t *module);

#endif
