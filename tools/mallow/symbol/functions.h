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

/* Abbreviations of a unit that are remembered: C++ units have some hundred. */
#define MW_FUNCTIONS_ABBREVIATIONS 4096

typedef enum mw_name_kind {
	MW_NAME_ORDINARY,
	MW_NAME_EMPTY,
	MW_NAME_ALLOCATOR, /* malloc and the like */
} mw_name_kind_t;

typedef struct mw_known_name {
	const char *name; /* as the object has it: the same one, the same pointer */
	mw_name_kind_t kind;
} mw_known_name_t;

/* Odd: names lie at any address. */
#define MW_FUNCTIONS_NAMES 4095

/* Zeroed is empty. */
typedef struct mw_functions {
	mw_unit_functions_t *units;
	size_t count, capacity;
	uint64_t entries_walked; /* over all units, against trees without end */
	const uint64_t *wanted;  /* NULL: any address may be asked for */
	size_t wanted_count;
	uint64_t question; /* how often `wanted` changed */
	/* Of the unit that is being listed, by abbreviation: whether its entries may have code. */
	uint8_t has_code[MW_FUNCTIONS_ABBREVIATIONS];
	mw_known_name_t names[MW_FUNCTIONS_NAMES]; /* by address */
} mw_functions_t;

/* Says that only these addresses, rising, will be asked for until the next call: lists have the
 * functions that hold one.  They are to be there until then.  NULL: any, as at the beginning. */
void mw_functions_want(mw_functions_t *functions, const uint64_t *addresses, size_t count);

/* Innermost first; 0: the address is in no function of the unit. */
size_t mw_functions_lookup(mw_functions_t *functions, Dwarf_Die *unit, uint64_t address,
			   mw_symbol_frame_t *frames, size_t capacity);
/* File and line of an address by the unit's line table; left alone where it has none. */
void mw_source_place(Dwarf_Die *unit, uint64_t address, const char **file, int64_t *line);
void mw_functions_release(mw_functions_t *functions);

#endif
