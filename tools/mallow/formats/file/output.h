/* SPDX-License-Identifier: MIT
 * output.h -- writes a file, plain or gzip, that appears under its name only when it is
 * complete.
 * Layer: formats/file.  The folder's door.  The folder holds code that all formats share: this
 * header writes files, unpack.h reads gzip and zstd, open_state_file.h opens files of other
 * users.  The first error is kept, and mw_output_close() reports it. */
#ifndef MW_TOOL_FORMATS_FILE_OUTPUT_H
#define MW_TOOL_FORMATS_FILE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "model/error.h"

typedef struct mw_output mw_output_t;

/* Opens `path` for writing; NULL or "-" means stdout.  An existing device or pipe is written to
 * directly.  If nothing can be opened, returns NULL and fills in `error`. */
mw_output_t *mw_output_open(const char *path, bool gzip, mw_error_t *error);

void mw_output_write(mw_output_t *output, const void *bytes, size_t length);
void mw_output_printf(mw_output_t *output, const char *format, ...) MW_PRINTF(2, 3);

/* Renames the finished file to its final name, or removes the file if any call failed.  Frees
 * `output` in both cases. */
int mw_output_close(mw_output_t *output, mw_error_t *error);

#endif
