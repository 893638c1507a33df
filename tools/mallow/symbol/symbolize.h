/* SPDX-License-Identifier: MIT
 * symbolize.h -- gives locations function names, files and lines, inlined frames included.
 * Layer: tools/symbol.  Files are found by the mapping's path, debug files by build-id and
 * .gnu_debuglink, both by debuginfod if allowed; a file whose build-id is not the recorded one is
 * not used.  Without debug information the ELF symbol tables give at least names; generated code
 * has those of its compiler's map for perf (jit.h).  C++ and Rust names are demangled. */
#ifndef MW_TOOL_SYMBOL_SYMBOLIZE_H
#define MW_TOOL_SYMBOL_SYMBOLIZE_H

#include "model/profile.h"

typedef struct mw_symbolize_options {
	/* A live process whose /proc/<pid>/root and map_files may hold files that are not to be
	 * found by path here (containers, deleted files); 0: none. */
	uint32_t pid;
	/* Folders that have the binaries, with ':' between them; NULL: none. */
	const char *binary_path;
	/* Where the root of the profiled system is; NULL: here. */
	const char *sysroot;
	/* Asks the servers in $DEBUGINFOD_URLS for what is not found. */
	bool debuginfod;
	/* The note on files without symbols names the packages to install, which takes a moment. */
	bool names_packages;
	/* Where symbols are kept between runs (mw_cache_directory()); NULL: nowhere. */
	const char *cache_directory;
	/* Called once for each module that cannot be used, with one line of text; may be NULL. */
	void (*note)(void *context, const char *text);
	/* Called before each file, `done` of `all` being behind; may be NULL. */
	void (*progress)(void *context, size_t done, size_t all, const char *path);
	void *context;
} mw_symbolize_options_t;

typedef struct mw_symbolize_result {
	size_t resolved;   /* locations that have a function name afterwards */
	size_t unresolved; /* those that have not */
} mw_symbolize_result_t;

/* Locations that have lines already keep them.  `options` may be NULL. */
mw_symbolize_result_t mw_symbolize(mw_profile_t *profile, const mw_symbolize_options_t *options);

/* Waits for what mw_symbolize() has left to do for later runs, as exit() does. */
void mw_symbolize_finish(void);

/* What to call a location without symbols: "libfoo.so+0x1234" (address in the ELF file), or
 * "0x7f..." without a mapping.  Returns `buffer`. */
const char *mw_location_name(const mw_profile_t *profile, uint32_t location, char *buffer,
			     size_t size);

/* The demangled name (C++, Rust v0 and legacy), or a copy of `name`; the caller frees it. */
char *mw_demangle(const char *name);
/* Likewise, with parameters and return types. */
char *mw_demangle_whole(const char *name);

#endif
