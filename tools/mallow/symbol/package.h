/* SPDX-License-Identifier: MIT
 * package.h -- the package that has a file's debug information.
 * Layer: tools/symbol. */
#ifndef MW_TOOL_SYMBOL_PACKAGE_H
#define MW_TOOL_SYMBOL_PACKAGE_H

#include <stdbool.h>
#include <stddef.h>

/* "redis-server-dbgsym" of "/usr/bin/redis-server"; false: no package of dpkg's has the file.  Asks
 * dpkg-query, which takes a tenth of a second. */
bool mw_debug_package_of(const char *path, char *package, size_t size);

#endif
