/* SPDX-License-Identifier: MIT
 * unpack.h -- gzip and zstd, in memory.
 * Layer: tools/read.  Private to this folder. */
#ifndef MW_TOOL_READ_UNPACK_H
#define MW_TOOL_READ_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

#include "model/error.h"

/* More is refused: a profile of a million stacks has some 100 MiB. */
#define MW_READ_BYTES_MAX ((size_t)2 << 30)

bool mw_is_packed(const char *bytes, size_t length);

/* The content, with a NUL behind it, which the caller frees; NULL: error.  What unfolds to more
 * than any profile of its size is refused. */
char *mw_unpack(const char *name, const char *bytes, size_t length, size_t *unpacked,
		mw_error_t *error);

#endif
