/* SPDX-License-Identifier: MIT
 * units.h -- which compilation unit holds an address, by the units' own ranges.
 * Layer: tools/symbol.  Private to this folder. */
#ifndef MW_TOOL_SYMBOL_UNITS_H
#define MW_TOOL_SYMBOL_UNITS_H

#include <elfutils/libdwfl.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mw_unit_range {
	Dwarf_Addr low, high;
	Dwarf_Die *unit; /* of libdwfl, as long as the module */
} mw_unit_range_t;

/* Zeroed is empty. */
typedef struct mw_units {
	mw_unit_range_t *ranges; /* sorted by `low` */
	size_t count, capacity;
} mw_units_t;

void mw_units_list(mw_units_t *units, Dwfl_Module *module);
Dwarf_Die *mw_units_find(mw_units_t *units, uint64_t address);
void mw_units_release(mw_units_t *units);

#endif
