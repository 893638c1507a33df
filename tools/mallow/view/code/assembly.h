/* SPDX-License-Identifier: MIT
 * assembly.h -- functions with their instructions, and the memory that each instruction
 * allocated.
 * Layer: view/code.  Private to this folder.  Reads the program's files, so it is called within
 * mw_confine() only. */
#ifndef MW_TOOL_VIEW_CODE_ASSEMBLY_H
#define MW_TOOL_VIEW_CODE_ASSEMBLY_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/code/code.h"
#include "view/common/view.h"

typedef struct mw_assembly_row {
	uint64_t address; /* address in the ELF file */
	char *text;
	int64_t flat, cum;
} mw_assembly_row_t;

typedef struct mw_assembly {
	mw_code_t *code;
	mw_code_range_t range; /* symbol of the function */
	mw_string_t module;
	mw_assembly_row_t *rows;
	size_t row_count;
	int64_t flat, cum; /* sums over the rows; a stack counts once for each instruction */
} mw_assembly_t;

typedef struct mw_assemblies {
	mw_assembly_t *functions; /* functions, ordered by name */
	size_t count, capacity;
	mw_code_t **codes; /* codes[i]: code of mapping i */
	size_t code_count;
} mw_assemblies_t;

typedef enum mw_assembly_of {
	/* Symbols whose name matches, or that contain the address that the pattern names. */
	MW_ASSEMBLY_OF_SYMBOLS,
	MW_ASSEMBLY_OF_LINES, /* symbols that contain a matching function, inlined or not */
} mw_assembly_of_t;

/* Collects the functions that match view->pattern, from the files that can be read.  If no
 * function is found, returns an error.  The caller releases `out` in both cases. */
int mw_assemblies_make(const mw_view_t *view, mw_assembly_of_t of, mw_assemblies_t *out,
		       mw_error_t *error);
void mw_assemblies_release(mw_assemblies_t *assemblies);

#endif
