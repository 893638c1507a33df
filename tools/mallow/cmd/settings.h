/* SPDX-License-Identifier: MIT
 * settings.h -- the settings of state/settings.def as people write and read them.
 * Layer: cmd. */
#ifndef MW_CMD_SETTINGS_H
#define MW_CMD_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/show.h"
#include "state/settings.h"

const char *mw_setting_name(mw_setting_t setting);
/* What it is without an option. */
uint64_t mw_setting_standard(mw_setting_t setting);
/* MW_SETTING_COUNT: there is none of that name, which has `length` characters. */
mw_setting_t mw_setting_find(const char *name, size_t length);
/* "2G", "off", "true", "12"; false: not in its range. */
bool mw_setting_parse(mw_setting_t setting, const char *text, uint64_t *value);
/* What it takes, for a complaint. */
const char *mw_setting_allowed(mw_setting_t setting, char buffer[MW_SHOW_BYTES]);
const char *mw_show_setting(mw_setting_t setting, uint64_t value, char buffer[MW_SHOW_BYTES]);

#endif
