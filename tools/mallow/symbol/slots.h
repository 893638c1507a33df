/* SPDX-License-Identifier: MIT
 * slots.h -- which function a call through a table of addresses reaches.
 * Layer: tools/symbol.  Private to this folder.  Calls to other files go through a slot that the
 * dynamic linker fills in; the relocation of the slot has the name. */
#ifndef MW_TOOL_SYMBOL_SLOTS_H
#define MW_TOOL_SYMBOL_SLOTS_H

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mw_slot {
	uint64_t address;
	const char *name; /* of the ELF file's string table */
} mw_slot_t;

typedef struct mw_slots {
	mw_slot_t *slots; /* by address */
	size_t count, capacity;
	uint64_t table; /* what i386's position-independent code has in %ebx; 0: the file tells none
			 */
} mw_slots_t;

void mw_slots_list(mw_slots_t *slots, Elf *elf);
/* NULL: the dynamic linker puts no function there. */
const char *mw_slots_name(const mw_slots_t *slots, uint64_t address);
void mw_slots_release(mw_slots_t *slots);

/* The slot that the stub at `address`, of these bytes, jumps through; 0: it is no such stub. */
uint64_t mw_stub_slot(const mw_slots_t *slots, unsigned machine, const uint8_t *bytes,
		      size_t length, uint64_t address);

#endif
