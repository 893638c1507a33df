/* SPDX-License-Identifier: MIT
 * mapped_pages.h -- returns the pages of a mapped file's debug information to the system.  They
 * count as the process's memory until then.
 * Layer: symbol/elf.  Private to this folder. */
#ifndef MW_TOOL_SYMBOL_ELF_MAPPED_PAGES_H
#define MW_TOOL_SYMBOL_ELF_MAPPED_PAGES_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>

enum { MW_PAGES_RANGES_MAX = 24 }; /* number of sections of debug information that have a name */

typedef struct mw_pages {
	struct {
		char *start;
		size_t bytes;
	} ranges[MW_PAGES_RANGES_MAX];
	size_t count;
	bool is_listed;
} mw_pages_t;

/* Returns the pages to the system.  The kernel reads them from the file again at the next
 * access.  `elf` is the file that libdw reads; libdw has opened all of its sections. */
void mw_pages_drop(mw_pages_t *pages, Elf *elf);

#endif
