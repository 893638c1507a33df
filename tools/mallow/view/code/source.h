/* SPDX-License-Identifier: MIT
 * source.h -- finds the source files that debug information names, and decides which may be
 * shown.
 * Layer: view/code.  Private to this folder.  A hostile program can name any file as its source,
 * for example /etc/shadow.  A file is shown in three cases: it is below a directory that the user
 * named; it belongs to root and everybody may read it; it belongs to the current user.  If the
 * current user is root, everybody must be able to read the file. */
#ifndef MW_TOOL_VIEW_CODE_SOURCE_H
#define MW_TOOL_VIEW_CODE_SOURCE_H

#include <stdio.h>

/* Opens `file` itself or below the directories of `roots` (separated by ':'; NULL = none).  NULL:
 * `*why` says why in a few words. */
FILE *mw_source_open(const char *file, const char *roots, const char **why);

#endif
