/* SPDX-License-Identifier: MIT
 * environment.h -- options from the environment variable MALLOW_OPTIONS.
 * Layer: cli. */
#ifndef MW_TOOL_CLI_ENVIRONMENT_H
#define MW_TOOL_CLI_ENVIRONMENT_H

#include "cli/options.h"

/* Words of a command line, preceded by the options of MALLOW_OPTIONS that the subcommand has. */
typedef struct mw_words {
	int count;
	char **words; /* the words, NULL-terminated */
	char *text;   /* memory of the words that come from MALLOW_OPTIONS */
} mw_words_t;

/* Reads MALLOW_OPTIONS, a list of --NAME or --NAME=VALUE separated by spaces.  An option that
 * only other subcommands have is skipped.  False: a message was printed.  The caller releases
 * `out` in both cases, after the last use of the parsed options. */
bool mw_words_collect(mw_words_t *out, const mw_subcommand_t *subcommand, int argc, char **argv);
void mw_words_release(mw_words_t *words);

#endif
