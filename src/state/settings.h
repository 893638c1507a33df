/* SPDX-License-Identifier: MIT
 * settings.h -- the numbers of the settings, as the state file has them.
 * Layer: state. */
#ifndef MW_STATE_SETTINGS_H
#define MW_STATE_SETTINGS_H

typedef enum mw_setting {
#define MW_SETTING(name, kind, standard, min, max, unit, help) MW_SETTING_##name,
#include "state/settings.def"
#undef MW_SETTING
	MW_SETTING_COUNT
} mw_setting_t;

/* The least request_limit: smaller requests take paths that do not look at it. */
#define MW_REQUEST_LIMIT_MIN_BYTES 65537u
/* What may follow '%' in dump_name; s and j are for jemalloc's names. */
#define MW_DUMP_NAME_LETTERS "pihentruPsj%"

#endif
