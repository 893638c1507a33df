/* SPDX-License-Identifier: MIT
 * module_elf.h -- reads facts about a loaded object from its headers.
 * Layer: prof/modules. Reads the object's first pages in memory, within its mapped segments
 * only. */
#ifndef MW_PROF_MODULES_MODULE_ELF_H
#define MW_PROF_MODULES_MODULE_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "state/layout.h"

/* Fills start, limit, file_offset, bias and build_id of an object that is mapped at [map_start,
 * map_limit) and begins with its ELF header. Returns false if the header is not valid. */
bool mw_module_read_elf(uintptr_t map_start, uintptr_t map_limit, mw_state_module_t *module);

/* Returns a hash by which the object differs from others that are loaded at its addresses: of its
 * build-id, or else of its path, its dynamic symbols and the addresses of its functions. Without a
 * build-id, two versions of one file have the same stamp only if all their symbols and all sizes of
 * functions are equal. `link_map`: NULL if the loader does not know the object. 0: the header is
 * not valid. Takes about 100 ns, without a build-id up to 2 us. */
uint64_t mw_module_stamp(uintptr_t map_start, uintptr_t map_limit, const struct link_map *link_map);
/* Mixes a value into a hash. */
static inline uint64_t mw_module_mix(uint64_t hash, uint64_t value) {
	unsigned __int128 product = (unsigned __int128)(hash ^ value) * 0x9e3779b97f4a7c15u;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#endif
