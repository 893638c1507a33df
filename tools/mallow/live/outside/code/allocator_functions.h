/* SPDX-License-Identifier: MIT
 * functions.h -- finds the functions of allocators in the files of a process.
 * Layer: live/outside/code.  The files may be hostile: this is called in a process of its own
 * (symbol/workers/confine.h). */
#ifndef MW_TOOL_LIVE_OUTSIDE_CODE_ALLOCATOR_FUNCTIONS_H
#define MW_TOOL_LIVE_OUTSIDE_CODE_ALLOCATOR_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/bpf/programs.h"
#include "live/outside/code/mapped_code.h"
#include "live/outside/code/probe_sites.h"

typedef struct mw_outside_function {
	mw_probe_kind_t kind;
	size_t module;
	uint64_t offset; /* in the file */
	uint64_t bytes;  /* of its code, by the symbol table */
	uint64_t start;  /* address in the process; 0: the file's code is not mapped there */
	mw_probe_site_t site;
} mw_outside_function_t;

typedef struct mw_outside_functions {
	mw_outside_function_t *all;
	size_t count, capacity;
} mw_outside_functions_t;

/* Adds the functions of a file that has both malloc and free: dynamic symbols, and for static
 * programs those of the linker.  Names of one place are one function. */
void mw_outside_functions_add(mw_outside_functions_t *functions,
			      const mw_outside_modules_t *modules, size_t module);
void mw_outside_functions_release(mw_outside_functions_t *functions);

/* Whether an address in the process is in one of the functions that allocate. */
bool mw_outside_functions_have(const mw_outside_functions_t *functions, uint64_t address);

#endif
