/* SPDX-License-Identifier: MIT
 * object_places.h -- where in a file's code the function or the source line may change.
 * Layer: symbol/code.  Between two places all addresses have the same names. */
#ifndef MW_TOOL_SYMBOL_CODE_OBJECT_PLACES_H
#define MW_TOOL_SYMBOL_CODE_OBJECT_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/elf/elf_object.h"

typedef struct mw_object_place {
	uint64_t address; /* in the ELF file */
	uint64_t offset;  /* of the file */
} mw_object_place_t;

/* Returns the places of the lines of the debug information, and the starts and ends of the
 * functions of the symbol table, in order, each once.  The caller frees them. */
mw_object_place_t *mw_object_places(mw_object_t *object, size_t *count);

#endif
