/* SPDX-License-Identifier: MIT
 * secret.h -- passwords and tokens, from a file or the environment: never from the command line,
 * which every user of the machine can read.
 * Layer: push. */
#ifndef MW_TOOL_PUSH_SECRET_H
#define MW_TOOL_PUSH_SECRET_H

#include "model/error.h"

enum { MW_SECRET_BYTES_MAX = 8192 };

/* Reads the first line of `file`, or the variable if `file` is NULL.  0: *out is the secret, NULL
 * if neither is given; the caller calls mw_secret_free().  -1: the file cannot be read, other users
 * can read it, or the secret has a character that no header may have. */
int mw_secret_read(const char *file, const char *variable, char **out, mw_error_t *error);
void mw_secret_free(char *secret); /* overwrites it; NULL is allowed */

#endif
