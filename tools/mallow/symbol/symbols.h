/* SPDX-License-Identifier: MIT
 * symbols.h -- which ELF symbol holds an address.
 * Layer: tools/symbol.  Private to this folder.  The answers are libdwfl's, which looks through all
 * symbols at each question: tens of thousands in a large program without debug information. */
#ifndef MW_TOOL_SYMBOL_SYMBOLS_H
#define MW_TOOL_SYMBOL_SYMBOLS_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Addresses for which one answer is known. */
typedef struct mw_symbol_range {
	uint64_t start, end;
	uint32_t symbol; /* its number; 0: libdwfl is to be asked */
} mw_symbol_range_t;

typedef struct mw_symbol_ranges {
	mw_symbol_range_t *ranges; /* rising, apart from each other */
	size_t count, capacity;
} mw_symbol_ranges_t;

/* Zeroed is empty. */
typedef struct mw_symbols {
	mw_symbol_ranges_t sized[2]; /* global symbols, local ones */
	mw_symbol_ranges_t labels;   /* where a global symbol without a size may be the answer */
	mw_symbol_ranges_t starts;   /* of all symbols without a size */
	mw_symbol_ranges_t sections; /* of code */
	size_t questions;
	bool is_listed;
} mw_symbols_t;

/* The name, as long as the module is there; NULL: no symbol is there. */
const char *mw_symbols_find(mw_symbols_t *symbols, Dwfl_Module *module, uint64_t address);
/* The name of a symbol that starts right there; NULL: none does. */
const char *mw_symbols_starting_at(mw_symbols_t *symbols, Dwfl_Module *module, uint64_t address);
void mw_symbols_release(mw_symbols_t *symbols);

#endif
