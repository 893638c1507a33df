/* SPDX-License-Identifier: MIT
 * help.h -- usage texts, man pages and completions, made from the option table.
 * Layer: cli/help.  The folder's door: help.c writes --help, help_man.c man pages,
 * help_completion.c completions of three shells, help_search.c finds words, languages.h has the
 * texts of `mallow help` in other languages. */
#ifndef MW_TOOL_CLI_HELP_HELP_H
#define MW_TOOL_CLI_HELP_HELP_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/options.h"

void mw_help_print_all(FILE *out);
/* Prints the help of a subcommand: its common options, or all of them if `is_all`. */
void mw_help_print(FILE *out, const mw_subcommand_t *subcommand, bool is_all);

/* Runs `mallow help`. */
int mw_cmd_help(const mw_arguments_t *arguments);

/* Prints the man page of a subcommand in mdoc(7). */
void mw_help_print_man(FILE *out, const mw_subcommand_t *subcommand);
/* Prints a list of all subcommands in mdoc(7), for the page mallow(1). */
void mw_help_print_man_list(FILE *out);

/* Prints the completion script for `shell`: "bash", "zsh" or "fish". */
void mw_help_print_completion(FILE *out, const char *shell);

/* Prints which command lines and subcommands are about a word.  False: none is. */
bool mw_help_search(FILE *out, const char *word);

#endif
