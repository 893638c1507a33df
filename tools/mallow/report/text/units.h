/* SPDX-License-Identifier: MIT
 * units.h -- formats numbers for people: three digits and a unit.
 * Layer: report/text.  The folder's door.  The folder formats the cells of tables: numbers here,
 * values of a sample type in types.h, names cut to a width in names.h, colours in style.h,
 * values in pprof's units in pprof_units.h. */
#ifndef MW_TOOL_REPORT_TEXT_UNITS_H
#define MW_TOOL_REPORT_TEXT_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"

/* Formats bytes: "1.5 MiB", "512 B".  Writes at most `size` bytes with the NUL. Returns
 * `buffer`. */
const char *mw_format_bytes(int64_t bytes, char *buffer, size_t size);
/* Formats "sampling was off 1 time for 12.5 s of 1.00 min: 79 % of the time was seen"; "" if
 * sampling was never off.  Returns `buffer`. */
const char *mw_format_pauses(const mw_profile_t *profile, char *buffer, size_t size);
/* Returns the share of the time in which sampling was on; 1 = always. */
double mw_seen_share(const mw_profile_t *profile);
/* Formats a duration: "980 ns", "1.50 ms", "2.00 h".  Returns `buffer`. */
const char *mw_format_nanoseconds(int64_t nanoseconds, char *buffer, size_t size);
/* Formats a count: "1.2M", "980".  Returns `buffer`. */
const char *mw_format_count(int64_t count, char *buffer, size_t size);
/* Formats a count with its noun: "1 object", "2.10M objects".  Returns `buffer`. */
const char *mw_format_counted(int64_t count, const char *noun, char *buffer, size_t size);

#endif
