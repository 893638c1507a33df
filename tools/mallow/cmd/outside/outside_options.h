/* SPDX-License-Identifier: MIT
 * outside_options.h -- options that a subcommand has with --outside only, or without it only.
 * Layer: cmd/outside. */
#ifndef MW_TOOL_CMD_OUTSIDE_OUTSIDE_OPTIONS_H
#define MW_TOOL_CMD_OUTSIDE_OUTSIDE_OPTIONS_H

#include <stdbool.h>

#include "cli/options.h"

/* Returns whether the options that are given go together.  `with` and `without` are names of
 * options, NULL-terminated: those that take --outside, and those that --outside excludes. False: a
 * message was printed. */
bool mw_outside_options_fit(const mw_arguments_t *arguments, bool is_outside,
			    const char *const *with, const char *const *without);

#endif
