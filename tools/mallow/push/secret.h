/* SPDX-License-Identifier: MIT
 * secret.h -- passwords and tokens, from a file or the environment: never from the command line,
 * which every user of the machine can read.
 * Layer: push. */
#ifndef MW_TOOL_PUSH_SECRET_H
#define MW_TOOL_PUSH_SECRET_H

#include "model/error.h"

/* The secrets by which a receiver knows who sends; NULL: none is given. */
typedef struct mw_secrets {
	char *token, *password;
} mw_secrets_t;

/* Reads the first line of each file, or MALLOW_PUSH_TOKEN and MALLOW_PUSH_PASSWORD where a file is
 * NULL.  Returns 0: the caller calls mw_secrets_free(). -1: a file cannot be read, other users can
 * read it, or a secret has a character that no header may have. */
int mw_secrets_read(const char *token_file, const char *password_file, mw_secrets_t *out,
		    mw_error_t *error);
void mw_secrets_free(mw_secrets_t *secrets); /* overwrites them */

#endif
