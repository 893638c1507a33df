/* SPDX-License-Identifier: MIT
 * pprof_units.h -- pprof's units of bytes and times, and numbers in these units.
 * Layer: report/text. */
#ifndef MW_TOOL_REPORT_TEXT_PPROF_UNITS_H
#define MW_TOOL_REPORT_TEXT_PPROF_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mw_unit {
	const char *name;   /* NULL ends the list */
	const char *others; /* other spellings in lower case and singular, separated by spaces */
	double size;
	bool by_name_only; /* used only if the user names it, never chosen automatically */
} mw_unit_t;

/* Returns the rising list of units for values measured in `name` ("bytes", "nanoseconds";
 * otherwise plain numbers). */
const mw_unit_t *mw_units_of(const char *name);
/* Finds a unit of a list by name; NULL = none. */
const mw_unit_t *mw_unit_find(const mw_unit_t *units, const char *name);
/* As mw_unit_find(), but returns the list's first unit instead of NULL: "MB" is no unit of
 * counts. */
const mw_unit_t *mw_unit_named(const mw_unit_t *units, const char *name);
/* Returns the largest unit in which `value` is at least 1. */
const mw_unit_t *mw_unit_fitting(const mw_unit_t *units, double value);
/* True if a list has a unit of this name. */
bool mw_unit_is_known(const char *name);

/* Formats a value: "1.5MB".  Returns `buffer` or a constant. */
const char *mw_unit_text(const mw_unit_t *unit, double value, char *buffer, size_t size);

#endif
