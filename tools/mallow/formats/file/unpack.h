/* SPDX-License-Identifier: MIT
 * unpack.h -- unpacks gzip and zstd in memory.
 * Layer: formats/file.  Private to formats/. */
#ifndef MW_TOOL_FORMATS_FILE_UNPACK_H
#define MW_TOOL_FORMATS_FILE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

#include "model/error.h"

/* Largest unpacked file; larger ones are refused.  A profile of a million stacks has about 100
 * MiB. */
#define MW_READ_BYTES_MAX ((size_t)2 << 30)

bool mw_is_packed(const char *bytes, size_t length);

/* Returns the unpacked content, followed by a NUL; the caller frees it.  NULL: error.  Content
 * that is larger than a profile of the file's size can be is refused. */
char *mw_unpack(const char *name, const char *bytes, size_t length, size_t *unpacked,
		mw_error_t *error);

#endif
