/* SPDX-License-Identifier: MIT
 * cave.h -- unused room for code in a process: behind the code of a loaded file, in its last page.
 * Layer: live/inject. */
#ifndef MW_TOOL_LIVE_INJECT_CAVE_H
#define MW_TOOL_LIVE_INJECT_CAVE_H

#include "live/loaded/address_space.h"

/* Returns the address of room for `bytes` of code: where the code is already, or else of zeros that
 * no segment of the file holds and that are mapped as private code; 0: there is none. *has_code:
 * the code is there. */
uint64_t mw_cave_find(const mw_address_space_t *space, const uint8_t *code, size_t bytes,
		      bool *has_code);

/* Writes code to the memory of a thread that this command traces and has stopped: by ptrace(2),
 * which the kernel lets write to code also where it does not let /proc/<pid>/mem. */
bool mw_cave_write(int thread, uint64_t address, const uint8_t *code, size_t bytes);

#endif
