/* SPDX-License-Identifier: MIT
 * address_space.h -- the memory of a process, and where its mappings are.
 * Layer: live/loaded. */
#ifndef MW_TOOL_LIVE_LOADED_ADDRESS_SPACE_H
#define MW_TOOL_LIVE_LOADED_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/process/maps.h"

/* The address space that a process had when it was opened. After an exec(2) of the process there is
 * nothing to read or write through it. */
typedef struct mw_address_space {
	int memory;     /* /proc/<pid>/mem, for reading and writing */
	mw_map_t *maps; /* without names */
	size_t count, capacity;
	/* Blocks of malloc() have guards as stacks have (MW_TOOL_NOTE_GUARDS). */
	bool blocks_have_guards;
} mw_address_space_t;

/* Opens that of a thread's process. Returns 0, or -1: the caller may not trace the process, or it
 * has ended (errno). The caller calls mw_address_space_close() in both cases. */
int mw_address_space_open(int thread, mw_address_space_t *out);
void mw_address_space_close(mw_address_space_t *space);

/* Returns the mapping that holds the address, or NULL. */
const mw_map_t *mw_address_space_at(const mw_address_space_t *space, uint64_t address);

/* Returns the mapping that holds all these bytes, if it is of the same file as `map`; else NULL. */
const mw_map_t *mw_address_space_in_file(const mw_address_space_t *space, const mw_map_t *map,
					 uint64_t address, uint64_t bytes);

/* Bytes of a table that the process has; 0 bytes: there is none. */
typedef struct mw_module_table {
	uint64_t address, bytes;
} mw_module_table_t;

/* Returns the pages that the dynamic linker closes once it has relocated the module whose
 * PT_GNU_RELRO segment this is: whole pages only, and the page in which the segment begins with
 * them. */
mw_module_table_t mw_relro_pages(uint64_t address, uint64_t bytes);

/* Reads memory. False: some of it cannot be read. */
bool mw_address_space_read(const mw_address_space_t *space, uint64_t address, void *out,
			   size_t bytes);

#endif
