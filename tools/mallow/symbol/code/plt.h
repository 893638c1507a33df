/* SPDX-License-Identifier: MIT
 * plt.h -- names the function that a call through a table of addresses reaches.
 * Layer: symbol/code.  Private to this folder.  A call to another file goes through a slot,
 * which the dynamic linker fills in.  The relocation of the slot has the function's name. */
#ifndef MW_TOOL_SYMBOL_CODE_PLT_H
#define MW_TOOL_SYMBOL_CODE_PLT_H

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mw_slot {
	uint64_t address;
	const char *name; /* in the string table of the ELF file */
} mw_slot_t;

typedef struct mw_slots {
	mw_slot_t *slots; /* the slots, ordered by address */
	size_t count, capacity;
	/* Value of %ebx in i386's position-independent code; 0 = not known. */
	uint64_t table;
} mw_slots_t;

void mw_slots_list(mw_slots_t *slots, Elf *elf);
/* Returns the name of the function whose address the linker puts into a slot; NULL = none. */
const char *mw_slots_name(const mw_slots_t *slots, uint64_t address);
void mw_slots_release(mw_slots_t *slots);

/* Returns the slot that the stub at `address`, with these bytes, jumps through; 0 = the bytes
 * are no stub. */
uint64_t mw_stub_slot(const mw_slots_t *slots, unsigned machine, const uint8_t *bytes,
		      size_t length, uint64_t address);

#endif
