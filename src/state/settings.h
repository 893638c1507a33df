/* SPDX-License-Identifier: MIT
 * settings.h -- numbers of the settings in the state file.
 * Layer: state. */
#ifndef MW_STATE_SETTINGS_H
#define MW_STATE_SETTINGS_H

#include <stddef.h>

#include "base/libc_text.h"

typedef enum mw_setting {
#define MW_SETTING(name, kind, standard, min, max, unit, help) MW_SETTING_##name,
#include "state/settings.def"
#undef MW_SETTING
	MW_SETTING_COUNT
} mw_setting_t;

/* Smallest request_limit. Smaller requests take paths that do not compare with the limit. */
#define MW_REQUEST_LIMIT_MIN_BYTES 65537u

/* Letters that may follow '%' in dump_name. s and j occur in jemalloc's names only and are not
 * documented. */
#define MW_DUMP_NAME_LETTERS "pihentruPsj%"
#define MW_DUMP_NAME_ALLOWED "%p, %i, %h, %e, %n, %t, %r, %u, %P, %%"
/* Returns the first '%' of the pattern that no valid letter follows; NULL: there is none. */
static inline const char *mw_dump_name_odd(const char *pattern) {
	for (; (pattern = mw_strchr(pattern, '%')) != NULL; pattern += 2)
		if (pattern[1] == '\0' || !mw_strchr(MW_DUMP_NAME_LETTERS, pattern[1]))
			break;
	return pattern;
}

#endif
