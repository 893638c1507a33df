/* SPDX-License-Identifier: MIT
 * dwp.h -- reads units of split debug information from a package (FILE.dwp).
 * Layer: symbol/elf.  Private to this folder.  With -gsplit-dwarf an executable has short units
 * ("skeletons"), which name .dwo files; a package holds the contents of these files, one beside
 * another, with an index by the units' numbers.  libdw 0.188 reads .dwo files only: this module
 * gives libdw an ELF file in memory for each unit that is looked up, which holds the unit's parts
 * of the package. */
#ifndef MW_TOOL_SYMBOL_ELF_DWP_H
#define MW_TOOL_SYMBOL_ELF_DWP_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mw_dwp mw_dwp_t;

/* Opens the package of an executable or debug file: PATH.dwp, or that of the file that a link at
 * PATH leads to.  NULL: there is none that can be read. */
mw_dwp_t *mw_dwp_open(const char *path);
/* Ends the entries that were found, too.  NULL is permitted. */
void mw_dwp_close(mw_dwp_t *package);

/* Finds the unit of a skeleton by its number (dwarf_cu_info()).  Fills in the unit's outermost
 * entry, which is valid until the package is closed.  All addresses of the unit are relative to
 * `*base`.  False: the package does not have the unit, or it is damaged. */
bool mw_dwp_find(mw_dwp_t *package, Dwarf_Die *skeleton, uint64_t number, Dwarf_Die *unit,
		 Dwarf_Addr *base);

#endif
