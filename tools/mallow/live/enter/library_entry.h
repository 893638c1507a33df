/* SPDX-License-Identifier: MIT
 * library_entry.h -- finds mallow's entry code (state/tool_entry.h) in the memory of a process.
 * Layer: live/enter.  The library may have any file name or none, be a part of the program, and
 * its file may be gone: it is known by a note that is loaded with it.  Nothing is taken from the
 * state file. */
#ifndef MW_TOOL_LIVE_ENTER_LIBRARY_ENTRY_H
#define MW_TOOL_LIVE_ENTER_LIBRARY_ENTRY_H

#include <stdint.h>

#include "live/process/maps.h"
#include "live/process/reach.h"

/* The address space that a process had when it was opened. After an exec(2) of the process there is
 * nothing to read or write through it. */
typedef struct mw_address_space {
	int memory;     /* /proc/<pid>/mem, for reading and writing */
	mw_map_t *maps; /* without names */
	size_t count, capacity;
	bool blocks_have_guards; /* MW_TOOL_NOTE_GUARDS; known once the entry code is */
} mw_address_space_t;

/* Opens that of a thread's process. Returns 0, or -1: the caller may not trace the process, or it
 * has ended (errno). The caller calls mw_address_space_close() in both cases. */
int mw_address_space_open(int thread, mw_address_space_t *out);
void mw_address_space_close(mw_address_space_t *space);

/* Returns the mapping that holds the address, or NULL. */
const mw_map_t *mw_address_space_at(const mw_address_space_t *space, uint64_t address);

/* Returns the address of the entry code of the library that keeps the reach's state file, or of
 * any if that has none; 0: there is none.  The code lies in a file that the process has mapped as
 * code, which nobody can write to in this address space, and is the same as this command's. */
uint64_t mw_library_entry_find(mw_address_space_t *space, const mw_reach_t *reach);

#endif
