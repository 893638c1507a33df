/* SPDX-License-Identifier: MIT
 * types.h -- sample types by name, and how their values are shown.
 * Layer: tools/report.  Private to this folder. */
#ifndef MW_TOOL_REPORT_TYPES_H
#define MW_TOOL_REPORT_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/error.h"
#include "model/profile.h"

/* `name` NULL: the profile's default.  The error names the types there are. */
int mw_report_find_type(const mw_profile_t *profile, const char *name, size_t *type,
			mw_error_t *error);

/* Is every value of `type` 0? */
bool mw_report_is_empty(const mw_profile_t *profile, size_t type);
/* The type of the same unit as `type` with the largest sum, which is *sum; 0 where none is above 0.
 */
size_t mw_report_largest_type(const mw_profile_t *profile, size_t type, int64_t *sum);

/* "1.50 MiB", "980", "2.1 s", as the type's unit asks; "0" for 0.  Returns `buffer`. */
const char *mw_report_value(const mw_profile_t *profile, size_t type, int64_t value, char *buffer,
			    size_t size);

#endif
