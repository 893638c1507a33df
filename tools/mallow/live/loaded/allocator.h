/* SPDX-License-Identifier: MIT
 * allocator.h -- which functions a program allocates with.
 * Layer: live/loaded. */
#ifndef MW_TOOL_LIVE_LOADED_ALLOCATOR_H
#define MW_TOOL_LIVE_LOADED_ALLOCATOR_H

#include <stdint.h>

#include "live/loaded/loaded_modules.h"
#include "model/error.h"
#include "state/attach.h"

typedef struct mw_allocator {
	const char *kind;          /* "glibc's malloc", "jemalloc", ... */
	const mw_module_t *module; /* that defines malloc */
	/* Addresses; 0: the program has no such function, or it is not the allocator's. */
	uint64_t functions[MW_ATTACH_FUNCTION_COUNT];
	uint64_t malloc_usable_size, dl_find_object, dl_iterate_phdr;
} mw_allocator_t;

/* Symbols of the functions, in the order of mw_attach_function_t. */
extern const char *const mw_attach_symbols[MW_ATTACH_FUNCTION_COUNT];

/* Finds the allocator: the first definition of malloc in the list of modules is the one that the
 * dynamic linker binds calls to. A function counts if it comes from the module of malloc, as those
 * that only call malloc (C++ operators of libstdc++) are seen there; dlopen and prctl may be of any
 * module.
 * Returns 0, or -1 with a part of a sentence. */
int mw_allocator_find(const mw_address_space_t *space, const mw_modules_t *modules,
		      mw_allocator_t *out, mw_error_t *error);

#endif
