/* SPDX-License-Identifier: MIT
 * functions.h -- which functions, inlined ones included, hold an address, by DWARF.
 * Layer: tools/symbol.  Private to this folder.  The functions of a unit are listed and sorted when
 * the first address in it is asked for: a lookup is then a binary search and a walk down the tree
 * of that one function, where libdw would walk the whole unit each time. */
#ifndef MW_TOOL_SYMBOL_FUNCTIONS_H
#define MW_TOOL_SYMBOL_FUNCTIONS_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/object.h"

typedef struct mw_unit_functions mw_unit_functions_t;

/* Zeroed is empty. */
typedef struct mw_functions {
	mw_unit_functions_t *units;
	size_t count, capacity;
	uint64_t entries_walked; /* over all units, against trees without end */
} mw_functions_t;

/* Innermost first; 0: the address is in no function of the unit. */
size_t mw_functions_lookup(mw_functions_t *functions, Dwarf_Die *unit, uint64_t address,
			   mw_symbol_frame_t *frames, size_t capacity);
/* File and line of an address by the unit's line table; left alone where it has none. */
void mw_source_place(Dwarf_Die *unit, uint64_t address, const char **file, int64_t *line);
void mw_functions_release(mw_functions_t *functions);

#endif
