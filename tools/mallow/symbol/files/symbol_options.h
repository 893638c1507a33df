/* SPDX-License-Identifier: MIT
 * symbol_options.h -- where to look for binaries and debug information, and who is told of
 * failures.
 * Layer: symbol/files.  The folder's door. debug_file.h finds debug files, debuginfod.h asks
 * servers, package.h names the Debian package with the debug information. symbol/elf reads the
 * files. */
#ifndef MW_TOOL_SYMBOL_FILES_SYMBOL_OPTIONS_H
#define MW_TOOL_SYMBOL_FILES_SYMBOL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mw_symbolize_options {
	/* A live process.  Files that cannot be found by path here (containers, deleted files)
	 * are read from its /proc/<pid>/root and map_files; 0 = none. */
	uint32_t pid;
	/* Directories with binaries, separated by ':'; NULL = none. */
	const char *binary_path;
	/* Root directory of the profiled system; NULL = this system. */
	const char *sysroot;
	/* Asks the servers in $DEBUGINFOD_URLS for files that are not found. */
	bool debuginfod;
	/* The note on files without symbols names the packages to install, which takes a tenth
	 * of a second. */
	bool names_packages;
	/* Directory that keeps symbols between runs (mw_cache_directory()); NULL = none. */
	const char *cache_directory;
	/* Called once for each module that cannot be used, with one line of text; may be NULL. */
	void (*note)(void *context, const char *text);
	/* Called before each file is read, after `done` of `all` files; may be NULL. */
	void (*progress)(void *context, size_t done, size_t all, const char *path);
	void *context;
} mw_symbolize_options_t;

#endif
