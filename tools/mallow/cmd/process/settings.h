/* SPDX-License-Identifier: MIT
 * settings.h -- names, ranges and texts of the settings in state/settings.def.
 * Layer: cmd/process. */
#ifndef MW_TOOL_CMD_PROCESS_SETTINGS_H
#define MW_TOOL_CMD_PROCESS_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/print.h"
#include "state/settings.h"

const char *mw_setting_name(mw_setting_t setting);
/* Returns the default value. */
uint64_t mw_setting_standard(mw_setting_t setting);
/* Finds a setting by its name of `length` characters; MW_SETTING_COUNT = there is none. */
mw_setting_t mw_setting_find(const char *name, size_t length);
/* Parses "2G", "off", "true", "12".  False: the value is not in the setting's range. */
bool mw_setting_parse(mw_setting_t setting, const char *text, uint64_t *value);
/* Returns a text with the allowed values, for messages. */
const char *mw_setting_allowed(mw_setting_t setting, char buffer[MW_SHOW_BYTES]);
const char *mw_show_setting(mw_setting_t setting, uint64_t value, char buffer[MW_SHOW_BYTES]);

#endif
