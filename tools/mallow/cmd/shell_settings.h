/* SPDX-License-Identifier: MIT
 * shell_settings.h -- the options that hold for all commands of the shell.
 * Layer: cmd. */
#ifndef MW_CMD_SHELL_SETTINGS_H
#define MW_CMD_SHELL_SETTINGS_H

#include <stdio.h>

#include "cmd/options.h"
#include "model/profile.h"

typedef struct mw_shell_setting {
	const char *name; /* of the option, as the table has it */
	char *value;
} mw_shell_setting_t;

/* Zeroed is empty. */
typedef struct mw_settings {
	mw_shell_setting_t *rows;
	size_t count, capacity;
} mw_settings_t;

/* Those of a command line, but for what is only to be loaded or written once. */
void mw_settings_init(mw_settings_t *settings, const mw_arguments_t *arguments);
void mw_settings_release(mw_settings_t *settings);

bool mw_settings_has(const mw_settings_t *settings, const char *name);
/* "name=value", "name=" (takes it back), "name" of a switch, or a sample type of the profile.
 * False: it complained. */
bool mw_settings_take(mw_settings_t *settings, const mw_profile_t *profile, const char *word);
/* focus, ignore and their kin. */
void mw_settings_forget_patterns(mw_settings_t *settings);
void mw_settings_print(const mw_settings_t *settings, FILE *out);
/* What an option is for.  False: it complained that there is none of that name. */
bool mw_settings_print_help(const char *name, FILE *out);
/* Names that can be set, by number; NULL at the end. */
const char *mw_settings_name(size_t i);
/* Whether that one is set to something. */
bool mw_settings_has_value(size_t i);

#endif
