/* SPDX-License-Identifier: MIT
 * output.h -- a file being written, plain or gzip, that gets its name only when it is whole.
 * Layer: tools/write.  Errors are kept until mw_output_close() reports the first one. */
#ifndef MW_TOOL_WRITE_OUTPUT_H
#define MW_TOOL_WRITE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "model/error.h"

typedef struct mw_output mw_output_t;

/* `path` NULL or "-": stdout.  What is there already and is no regular file (a device, a pipe) is
 * written to directly.  NULL with `error` set when nothing can be opened. */
mw_output_t *mw_output_open(const char *path, bool gzip, mw_error_t *error);

void mw_output_write(mw_output_t *output, const void *bytes, size_t length);
void mw_output_printf(mw_output_t *output, const char *format, ...) MW_PRINTF(2, 3);

/* Gives the file its name, or removes it when anything failed; frees `output` either way. */
int mw_output_close(mw_output_t *output, mw_error_t *error);

#endif
