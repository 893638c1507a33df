/* SPDX-License-Identifier: MIT
 * leak_report.h -- prints leaks in gperftools' words, and writes them into a profile.
 * Layer: compat/gperftools/checker. What the functions allocate is no part of a profile. */
#ifndef MW_COMPAT_GPERFTOOLS_CHECKER_LEAK_REPORT_H
#define MW_COMPAT_GPERFTOOLS_CHECKER_LEAK_REPORT_H

#include <stdbool.h>

#include "compat/gperftools/checker/checker_settings.h"
#include "compat/leaks/leak_search.h"

/* `name` of the check. `names_frames`: with the names of functions. */
void mw_gp_leaks_report(const mw_gp_checker_settings_t *settings, const char *name,
			const mw_leaks_t *leaks, bool names_frames);

#endif
