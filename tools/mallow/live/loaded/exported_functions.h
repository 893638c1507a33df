/* SPDX-License-Identifier: MIT
 * exported_functions.h -- finds functions that a module defines, by the hash table that the dynamic
 * linker uses. Layer: live/loaded. */
#ifndef MW_TOOL_LIVE_LOADED_EXPORTED_FUNCTIONS_H
#define MW_TOOL_LIVE_LOADED_EXPORTED_FUNCTIONS_H

#include <stdint.h>

#include "live/loaded/loaded_modules.h"

/* Returns the address of a function that the module exports; 0: it exports none of this name. The
 * address is inside of the module's code. */
uint64_t mw_module_function(const mw_address_space_t *space, const mw_module_t *module,
			    const char *name);

/* Returns the address of the first module's function of this name, and its module in *module.
 * glibc's dynamic linker, whose own malloc serves until the program's is there, is behind all
 * others. */
uint64_t mw_modules_function(const mw_address_space_t *space, const mw_modules_t *modules,
			     const char *name, const mw_module_t **module);

#endif
