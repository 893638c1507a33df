/* SPDX-License-Identifier: MIT
 * pprof_units.h -- pprof's units of bytes, times and computing (GCU), and numbers in these units.
 * Layer: report/text.  A profile.proto may state its values and labels in any of them. Numbers in
 * another unit ("objects", "cycles") are counts: no unit but their own fits them. */
#ifndef MW_TOOL_REPORT_TEXT_PPROF_UNITS_H
#define MW_TOOL_REPORT_TEXT_PPROF_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"

typedef struct mw_unit {
	const char *name;   /* NULL ends the list */
	const char *others; /* other spellings in lower case and singular, separated by spaces */
	double size;        /* in bytes, nanoseconds or GCU */
	bool by_name_only;  /* used only if the user names it, never chosen automatically */
	bool is_standard;   /* for values that no unit fits, and when the wanted unit is not here */
} mw_unit_t;

/* Returns the rising list of units that has `name` ("bytes", "ms"); otherwise that of plain
 * numbers. */
const mw_unit_t *mw_units_of(const char *name);
/* Returns the size of unit `name` in its list: 1024 for "kilobytes"; 1 for plain numbers. */
double mw_unit_size(const char *name);
/* Finds a unit of a list by name; NULL = none. */
const mw_unit_t *mw_unit_find(const mw_unit_t *units, const char *name);
/* As mw_unit_find(), but returns the list's standard unit instead of NULL: "MB" is no unit of
 * counts or times. */
const mw_unit_t *mw_unit_named(const mw_unit_t *units, const char *name);
/* Returns the largest unit in which `value`, in the list's smallest, is at least 1. */
const mw_unit_t *mw_unit_fitting(const mw_unit_t *units, double value);
/* True if a list has a unit of this name. */
bool mw_unit_is_known(const char *name);

/* Formats a value that is in bytes, nanoseconds or GCU: "1.5MB".  Returns `buffer` or a constant.
 */
const char *mw_unit_text(const mw_unit_t *unit, double value, char *buffer, size_t size);

/* Formats a value in the unit `name` for people: "1.50 MiB", "2.10 s".  Returns `buffer`, or NULL
 * for plain numbers. */
const char *mw_unit_for_people(int64_t value, const char *name, char *buffer, size_t size);

/* Profiles may state one sample type in different units: of each type that both have, the values in
 * the larger unit are converted to the smaller one, so that they can be added. */
void mw_units_agree(mw_profile_t *a, mw_profile_t *b);

#endif
