/* SPDX-License-Identifier: MIT
 * assembly.h -- functions with their instructions and what each of these holds.
 * Layer: tools/view.  Private to this folder.  Reads the program's files: in mw_confine() only. */
#ifndef MW_TOOL_VIEW_ASSEMBLY_H
#define MW_TOOL_VIEW_ASSEMBLY_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/code.h"
#include "view/view.h"

typedef struct mw_assembly_row {
	uint64_t address; /* in the ELF file */
	char *text;
	int64_t flat, cum;
} mw_assembly_row_t;

typedef struct mw_assembly {
	mw_code_t *code;
	mw_code_range_t range; /* the symbol */
	mw_string_t module;
	mw_assembly_row_t *rows;
	size_t row_count;
	int64_t flat, cum; /* sums of the rows': a stack counts once an instruction */
} mw_assembly_t;

typedef struct mw_assemblies {
	mw_assembly_t *functions; /* by name */
	size_t count, capacity;
	mw_code_t **codes; /* by mapping */
	size_t code_count;
} mw_assemblies_t;

typedef enum mw_assembly_of {
	MW_ASSEMBLY_OF_SYMBOLS, /* whose name matches, or that hold the address the pattern is */
	MW_ASSEMBLY_OF_LINES,   /* that hold a function that matches, inlined or not */
} mw_assembly_of_t;

/* Of view->pattern, as far as there are files.  An error if nothing is found.  The caller releases
 * it in either case. */
int mw_assemblies_make(const mw_view_t *view, mw_assembly_of_t of, mw_assemblies_t *out,
		       mw_error_t *error);
void mw_assemblies_release(mw_assemblies_t *assemblies);

#endif
