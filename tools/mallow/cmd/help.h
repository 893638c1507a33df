/* SPDX-License-Identifier: MIT
 * help.h -- usage texts, made from the table of options.
 * Layer: cmd. */
#ifndef MW_CMD_HELP_H
#define MW_CMD_HELP_H

#include <stdio.h>

#include "cmd/options.h"

void mw_help_print_all(FILE *out);
void mw_help_print(FILE *out, const mw_subcommand_t *subcommand);

#endif
