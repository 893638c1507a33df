/* SPDX-License-Identifier: MIT
 * help.h -- usage texts, man pages and completions, made from the table of options.
 * Layer: cmd. */
#ifndef MW_CMD_HELP_H
#define MW_CMD_HELP_H

#include <stdio.h>

#include "cmd/options.h"

void mw_help_print_all(FILE *out);
void mw_help_print(FILE *out, const mw_subcommand_t *subcommand);

/* The man page of a subcommand, in mdoc(7). */
void mw_help_print_man(FILE *out, const mw_subcommand_t *subcommand);
/* The items of a list of all of them, for the page of the whole. */
void mw_help_print_man_list(FILE *out);

/* `shell` is bash, zsh or fish. */
void mw_help_print_completion(FILE *out, const char *shell);

#endif
