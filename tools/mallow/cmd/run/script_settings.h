/* SPDX-License-Identifier: MIT
 * script_settings.h -- what `mallow run` sets for interpreters.
 * Layer: cmd/run. */
#ifndef MW_TOOL_CMD_RUN_SCRIPT_SETTINGS_H
#define MW_TOOL_CMD_RUN_SCRIPT_SETTINGS_H

#include <stdbool.h>

/* Sets environment variables by which the interpreter of the command line tells the names of its
 * functions (`scripts`), and by which its objects come from malloc (`objects`). For a program that
 * is no known interpreter it sets all, because the program may start one. Settings that the user
 * made are kept. Prints one line, unless `is_quiet`. */
void mw_script_settings_make(char *const *command_line, bool scripts, bool objects, bool is_quiet);

#endif
