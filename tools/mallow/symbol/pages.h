/* SPDX-License-Identifier: MIT
 * pages.h -- the pages of a mapped file's debug information, which count as the process's memory
 * until they are given back.
 * Layer: tools/symbol.  Private to this folder. */
#ifndef MW_TOOL_SYMBOL_PAGES_H
#define MW_TOOL_SYMBOL_PAGES_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>

enum { MW_PAGES_RANGES_MAX = 24 }; /* sections of debug information there are names for */

typedef struct mw_pages {
	struct {
		char *start;
		size_t bytes;
	} ranges[MW_PAGES_RANGES_MAX];
	size_t count;
	bool is_listed;
} mw_pages_t;

/* Gives them back; they are read from the file again when they are looked at.  `elf` is the file
 * libdw reads, all of whose sections it has opened. */
void mw_pages_drop(mw_pages_t *pages, Elf *elf);

#endif
