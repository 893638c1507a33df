/* SPDX-License-Identifier: MIT
 * types.h -- sample types by name, and the format of their values.
 * Layer: report/text.  Private to this folder. */
#ifndef MW_TOOL_REPORT_TEXT_TYPES_H
#define MW_TOOL_REPORT_TEXT_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/error.h"
#include "model/profile.h"

/* Finds a type.  `name` NULL means the profile's default.  The error names the types of the
 * profile. */
int mw_report_find_type(const mw_profile_t *profile, const char *name, size_t *type,
			mw_error_t *error);

/* True if every value of `type` is 0. */
bool mw_report_is_empty(const mw_profile_t *profile, size_t type);
/* Says why a table of the profile has no rows, below a total. */
const char *mw_report_nothing(const mw_profile_t *profile, size_t type, int64_t total);
/* Returns the type with the unit of `type` that has the largest sum, and the sum in *sum; 0 if
 * no sum is above 0. */
size_t mw_report_largest_type(const mw_profile_t *profile, size_t type, int64_t *sum);

/* Formats a value by its type's unit: "1.50 MiB", "980", "2.1 s"; "0" for 0.  Returns `buffer`. */
const char *mw_report_value(const mw_profile_t *profile, size_t type, int64_t value, char *buffer,
			    size_t size);

#endif
