/* SPDX-License-Identifier: MIT
 * compat.h -- the command under the names jeprof and pprof.
 * Layer: cmd/compat.  The folder's door. outputs.def maps options and commands to views,
 * compat.c parses command lines, shell.c reads commands at a prompt, shell_settings.h holds its
 * options, name_addresses.h is `jeprof --symbols`. */
#ifndef MW_TOOL_CMD_COMPAT_COMPAT_H
#define MW_TOOL_CMD_COMPAT_COMPAT_H

#include "cli/options.h"

enum { MW_COMPAT_PROGRAMS = 2 };

extern const mw_subcommand_t mw_compat_programs[MW_COMPAT_PROGRAMS];

/* Handles an option that stands alone, for example `jeprof --version`.  False: it is no such
 * option. */
bool mw_compat_answer(const mw_subcommand_t *program, const char *option);

#endif
