/* SPDX-License-Identifier: MIT
 * compat.h -- the command under the names of jeprof and pprof.
 * Layer: cmd. */
#ifndef MW_CMD_COMPAT_H
#define MW_CMD_COMPAT_H

#include "cmd/options.h"

/* By the name a command was called with; NULL: it is none of theirs. */
const mw_subcommand_t *mw_compat_find(const char *path);

/* Answers an option that stands alone, as `jeprof --version` does; false: it is another. */
bool mw_compat_answer(const mw_subcommand_t *program, const char *option);

#endif
