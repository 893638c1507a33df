/* SPDX-License-Identifier: MIT
 * symbolize.h -- gives locations function names, files and lines, inlined frames included.
 * Layer: symbol.  The folder's door. symbolize.c makes a job of each file, symbol/workers does
 * the jobs with symbol/elf, symbol/cache keeps the names. jit.h names generated code; hint.h
 * says which packages to install if names are missing.
 * A file is found by the mapping's path, its debug file by build-id and .gnu_debuglink.  Both
 * are fetched from debuginfod servers if that is allowed.  A file whose build-id differs from
 * the recorded one is not used.  Without debug information the ELF symbol tables give names.
 * Generated code gets the names of its compiler's map for perf.  C++ and Rust names are
 * demangled. */
#ifndef MW_TOOL_SYMBOL_SYMBOLIZE_H
#define MW_TOOL_SYMBOL_SYMBOLIZE_H

#include "model/profile.h"
#include "symbol/files/symbol_options.h"

typedef struct mw_symbolize_result {
	size_t resolved;   /* locations that have a function name afterwards */
	size_t unresolved; /* locations that have none */
} mw_symbolize_result_t;

/* Names all locations.  Locations that have lines already keep them.  `options` may be NULL. */
mw_symbolize_result_t mw_symbolize(mw_profile_t *profile, const mw_symbolize_options_t *options);

/* Waits for work that mw_symbolize() left for later runs (filling the cache). exit() calls this,
 * too. */
void mw_symbolize_finish(void);

/* Names a location without symbols: "libfoo.so+0x1234" (the address in the ELF file), or
 * "0x7f..." without a mapping.  Returns `buffer`. */
const char *mw_location_name(const mw_profile_t *profile, uint32_t location, char *buffer,
			     size_t size);

#endif
