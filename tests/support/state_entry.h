/* SPDX-License-Identifier: MIT
 * state_entry.h -- an entry of a mapped state file, among the first ones of its section or not. */
#ifndef STATE_ENTRY_H
#define STATE_ENTRY_H

#include "state/layout.h"

static inline void *state_entry(const char *base, mw_state_section_id_t id, uint64_t index) {
	const mw_state_header_t *header = (const mw_state_header_t *)(const void *)base;
	const mw_state_section_t *section = &header->sections[id];
	uint64_t offset = index < section->first_entries ? section->first_offset_bytes
							 : section->offset_bytes;
	return (void *)(uintptr_t)(base + offset + index * section->stride_bytes);
}

#endif
