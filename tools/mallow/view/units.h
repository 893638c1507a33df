/* SPDX-License-Identifier: MIT
 * units.h -- pprof's units for bytes and times, and numbers in them.
 * Layer: tools/view.  Private to this folder. */
#ifndef MW_TOOL_VIEW_UNITS_H
#define MW_TOOL_VIEW_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mw_unit {
	const char *name;   /* NULL ends a list */
	const char *others; /* spellings, in lower case and of one, with spaces between */
	double size;
	bool by_name_only; /* taken where it is asked for, not because it fits */
} mw_unit_t;

/* Those of what is measured in `name` ("bytes", "nanoseconds"; anything else: plain numbers),
 * rising. */
const mw_unit_t *mw_units_of(const char *name);
/* One of a list by name; NULL: there is none. */
const mw_unit_t *mw_unit_find(const mw_unit_t *units, const char *name);
/* Likewise; its first when there is none: "MB" says nothing of counts. */
const mw_unit_t *mw_unit_named(const mw_unit_t *units, const char *name);
/* The largest that leaves at least 1 of it. */
const mw_unit_t *mw_unit_fitting(const mw_unit_t *units, double value);
/* In any list? */
bool mw_unit_is_known(const char *name);

/* "1.5MB", in `buffer` or a constant. */
const char *mw_unit_text(const mw_unit_t *unit, double value, char *buffer, size_t size);

#endif
