/* SPDX-License-Identifier: MIT
 * package.h -- names the package with a file's debug information.
 * Layer: symbol/files. */
#ifndef MW_TOOL_SYMBOL_FILES_PACKAGE_H
#define MW_TOOL_SYMBOL_FILES_PACKAGE_H

#include <stdbool.h>
#include <stddef.h>

/* Fills in "redis-server-dbgsym" for "/usr/bin/redis-server".  False: no package of dpkg owns
 * the file.  Runs dpkg-query, which takes a tenth of a second. */
bool mw_debug_package_of(const char *path, char *package, size_t size);

#endif
