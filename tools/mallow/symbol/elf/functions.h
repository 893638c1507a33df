/* SPDX-License-Identifier: MIT
 * functions.h -- finds the functions, inlined ones included, that hold an address, by DWARF.
 * Layer: symbol/elf.  Private to this folder.  The functions of a unit are listed and sorted at
 * the first lookup in the unit.  Later lookups need a binary search and a walk down one
 * function's tree, while libdw would walk the whole unit each time. */
#ifndef MW_TOOL_SYMBOL_ELF_FUNCTIONS_H
#define MW_TOOL_SYMBOL_ELF_FUNCTIONS_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "model/table.h"
#include "symbol/elf/dwp.h"
#include "symbol/elf/elf_object.h"

typedef struct mw_unit_functions mw_unit_functions_t;

/* Most abbreviations of a unit whose kind is remembered.  C++ units have some hundred. */
#define MW_FUNCTIONS_ABBREVIATIONS 4096

typedef enum mw_name_kind {
	MW_NAME_ORDINARY,
	MW_NAME_EMPTY,
	MW_NAME_ALLOCATOR, /* malloc and similar functions */
} mw_name_kind_t;

typedef struct mw_known_name {
	const char *name; /* text in libdw's memory: equal pointers mean equal names */
	mw_name_kind_t kind;
} mw_known_name_t;

/* Name of a function with its namespaces and classes. */
typedef struct mw_scoped_name {
	const void *place; /* the entry's address in libdw's memory, which identifies it */
	char *name;        /* NULL = the plain name is all */
} mw_scoped_name_t;

/* A zeroed object is empty. */
typedef struct mw_scoped_names {
	mw_scoped_name_t *names; /* names[0] is unused */
	size_t count, capacity;
	mw_table_t by_place;
} mw_scoped_names_t;

/* Size of the table of names.  The number is odd, because names lie at any address. */
#define MW_FUNCTIONS_NAMES 4095

/* Files beside which a package of split debug information may be: the executable or library, and
 * its debug file. */
#define MW_FUNCTIONS_PLACES 2

/* A zeroed object is empty. */
typedef struct mw_functions {
	mw_unit_functions_t *units;
	size_t count, capacity;
	uint64_t entries_walked; /* entries visited in all units, to stop at trees without end */
	const uint64_t *wanted;  /* addresses that may be asked for, rising; NULL = any address */
	size_t wanted_count;
	uint64_t question; /* number of changes of `wanted` */
	/* For the unit that is being listed, by abbreviation: whether its entries may have code. */
	uint8_t has_code[MW_FUNCTIONS_ABBREVIATIONS];
	mw_scoped_names_t scoped;                  /* of functions without a linkage name */
	mw_known_name_t names[MW_FUNCTIONS_NAMES]; /* kinds of names, by address of the name */
	const char *places[MW_FUNCTIONS_PLACES];   /* set by the owner, who keeps the texts */
	int places_tried;
	mw_dwp_t *package; /* NULL = not looked for, or there is none */
	/* With -gsplit-dwarf: name of the file that describes the functions of the first unit whose
	 * file is not there; "" = none is missing. */
	char missing[MW_MISSING_BYTES];
} mw_functions_t;

/* Says that until the next call only these addresses, rising, will be looked up, so that only
 * functions that hold one of them are listed.  The caller keeps the array until the next call.
 * NULL: any address may be looked up, as at the beginning. */
void mw_functions_want(mw_functions_t *functions, const uint64_t *addresses, size_t count);

/* Fills in the functions at `address`, innermost first; returns their number.  0 = no function
 * of the unit holds the address. */
size_t mw_functions_lookup(mw_functions_t *functions, Dwarf_Die *unit, uint64_t address,
			   mw_symbol_frame_t *frames, size_t capacity);
/* Sets file and line of an address by the unit's line table, or leaves them unchanged if the
 * table has no line. */
void mw_source_place(Dwarf_Die *unit, uint64_t address, const char **file, int64_t *line);
void mw_functions_release(mw_functions_t *functions);

#endif
