/* SPDX-License-Identifier: MIT
 * shell_settings.h -- options that apply to all commands of the shell.
 * Layer: cmd/compat. */
#ifndef MW_TOOL_CMD_COMPAT_SHELL_SETTINGS_H
#define MW_TOOL_CMD_COMPAT_SHELL_SETTINGS_H

#include <stdio.h>

#include "cli/options.h"
#include "model/profile.h"

typedef struct mw_shell_setting {
	const char *name; /* name of the option in the table */
	char *value;
} mw_shell_setting_t;

/* A zeroed list is empty. */
typedef struct mw_settings {
	mw_shell_setting_t *rows;
	size_t count, capacity;
} mw_settings_t;

/* Takes the options of a command line, except options for loading and for one output. */
void mw_settings_init(mw_settings_t *settings, const mw_arguments_t *arguments);
void mw_settings_release(mw_settings_t *settings);

bool mw_settings_has(const mw_settings_t *settings, const char *name);
/* Handles "name=value", "name=" (removes the value), "name" of a switch, or a sample type of the
 * profile.  False: a message was printed. */
bool mw_settings_take(mw_settings_t *settings, const mw_profile_t *profile, const char *word);
/* Removes the values of focus, ignore and the other patterns. */
void mw_settings_forget_patterns(mw_settings_t *settings);
void mw_settings_print(const mw_settings_t *settings, FILE *out);
/* Prints the help of an option.  False: there is none of this name, and a message was printed. */
bool mw_settings_print_help(const char *name, FILE *out);
/* Returns the name of setting `i`; NULL after the last. */
const char *mw_settings_name(size_t i);
/* True if setting `i` has a value. */
bool mw_settings_has_value(size_t i);

#endif
