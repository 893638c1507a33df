/* SPDX-License-Identifier: MIT
 * store_directory.h -- a store in a directory of profile.proto files with an SQLite index.
 * Layer: store/directory.  The folder's door.  files.h has the files, index/ the SQLite database,
 * rebuild.h makes an index of the files, kept_symbols.h keeps names that were pushed.
 * ROOT/profiles/YYYY-MM-DD/ has a file for each profile, which other tools can read.
 * ROOT/index.sqlite has all that questions need; it is made anew when it is missing or damaged. */
#ifndef MW_TOOL_STORE_DIRECTORY_STORE_DIRECTORY_H
#define MW_TOOL_STORE_DIRECTORY_STORE_DIRECTORY_H

#include "store/backend.h"

extern const mw_backend_t mw_directory_backend;

#endif
