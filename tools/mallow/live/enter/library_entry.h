/* SPDX-License-Identifier: MIT
 * library_entry.h -- finds mallow's entry code (state/tool_entry.h) in the memory of a process.
 * Layer: live/enter.  The library may have any file name or none, be a part of the program, and
 * its file may be gone: it is known by a note that is loaded with it.  Nothing is taken from the
 * state file. */
#ifndef MW_TOOL_LIVE_ENTER_LIBRARY_ENTRY_H
#define MW_TOOL_LIVE_ENTER_LIBRARY_ENTRY_H

#include <stdint.h>

#include "live/loaded/address_space.h"
#include "live/process/reach.h"

/* Returns the address of the entry code of the library that keeps the reach's state file, or of
 * any if that has none; 0: there is none.  The code lies in a file that the process has mapped as
 * code, which nobody can write to in this address space, and is the same as this command's. */
uint64_t mw_library_entry_find(mw_address_space_t *space, const mw_reach_t *reach);

#endif
