/* SPDX-License-Identifier: MIT
 * symbols.h -- finds the ELF symbol that holds an address, or the unwind information.
 * Layer: symbol/elf.  Private to this folder.  The answers equal libdwfl's. libdwfl searches all
 * symbols at each lookup: tens of thousands in a large program without debug information. */
#ifndef MW_TOOL_SYMBOL_ELF_SYMBOLS_H
#define MW_TOOL_SYMBOL_ELF_SYMBOLS_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Range of addresses that have one answer. */
typedef struct mw_symbol_range {
	uint64_t start, end;
	uint32_t symbol; /* number of the symbol; 0 = libdwfl has to be asked */
} mw_symbol_range_t;

typedef struct mw_symbol_ranges {
	mw_symbol_range_t *ranges; /* ordered by address, without overlaps */
	size_t count, capacity;
} mw_symbol_ranges_t;

/* A zeroed object is empty. */
typedef struct mw_symbols {
	mw_symbol_ranges_t sized[2]; /* [0] global symbols, [1] local symbols */
	/* Ranges in which a global symbol without a size may be the answer. */
	mw_symbol_ranges_t labels;
	/* All symbols without a size.  The end of a range is the largest end so far. */
	mw_symbol_ranges_t starts;
	mw_symbol_ranges_t sections; /* sections that hold code */
	size_t questions;            /* number of lookups in libdwfl */
	bool is_listed;
	/* The index of the unwind information (.eh_frame_hdr), and the information itself; NULL =
	 * there is none.  Valid once is_index_sought is set. */
	const uint8_t *index, *frames;
	size_t index_bytes, frames_bytes;
	uint64_t index_address, frames_address; /* in the ELF file */
	bool is_index_sought;
} mw_symbols_t;

/* Returns the name of the symbol that holds an address, valid as long as the module; NULL =
 * none. */
const char *mw_symbols_find(mw_symbols_t *symbols, Dwfl_Module *module, uint64_t address);
/* Returns the name of a symbol that starts exactly at an address; NULL = none. */
const char *mw_symbols_starting_at(mw_symbols_t *symbols, Dwfl_Module *module, uint64_t address);
/* Finds the function that holds an address by the unwind information, which stripped files have,
 * too.  Returns false if there is none, or if its index has not the form that GNU ld, gold and lld
 * write. */
bool mw_symbols_find_range(mw_symbols_t *symbols, Dwfl_Module *module, uint64_t address,
			   uint64_t *start);
void mw_symbols_release(mw_symbols_t *symbols);

#endif
