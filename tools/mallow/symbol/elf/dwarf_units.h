/* SPDX-License-Identifier: MIT
 * dwarf_units.h -- finds the compilation unit that holds an address, by the units' own ranges.
 * Layer: symbol/elf.  Private to this folder. */
#ifndef MW_TOOL_SYMBOL_ELF_DWARF_UNITS_H
#define MW_TOOL_SYMBOL_ELF_DWARF_UNITS_H

#include <elfutils/libdwfl.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mw_unit_range {
	Dwarf_Addr low, high;
	Dwarf_Die *unit; /* owned by libdwfl, valid as long as the module */
} mw_unit_range_t;

/* A zeroed list is empty. */
typedef struct mw_units {
	mw_unit_range_t *ranges; /* sorted by `low` */
	size_t count, capacity;
} mw_units_t;

void mw_units_list(mw_units_t *units, Dwfl_Module *module);
Dwarf_Die *mw_units_find(mw_units_t *units, uint64_t address);
void mw_units_release(mw_units_t *units);

#endif
