/* SPDX-License-Identifier: MIT
 * module_elf.h -- what the headers of a loaded object say about it.
 * Layer: prof.  Reads the object's first pages in memory, nowhere outside its mapped segments. */
#ifndef MW_PROF_MODULE_ELF_H
#define MW_PROF_MODULE_ELF_H

#include <stdbool.h>
#include <stdint.h>

#include "state/layout.h"

/* Fills start, limit, file_offset, bias and build_id of an object mapped at [map_start, map_limit),
 * its ELF header first.  False: there is no sensible ELF header. */
bool mw_module_read_elf(uintptr_t map_start, uintptr_t map_limit, mw_state_module_t *module);

#endif
