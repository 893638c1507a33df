/* SPDX-License-Identifier: MIT
 * units.c -- numbers for people: three digits and a unit. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "report/report.h"

/* `value` in three digits. */
static void three_digits(double value, const char *unit, char *buffer, size_t size) {
	double size_of = value < 0 ? -value : value;
	/* 9.995 would round to 10.00: the limits are where the rounding changes. */
	int decimals = size_of < 9.995 ? 2 : size_of < 99.95 ? 1 : 0;
	snprintf(buffer, size, "%.*f%s", decimals, value, unit);
}

const char *mw_format_bytes(int64_t bytes, char *buffer, size_t size) {
	static const char *const units[] = {" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
	double value = (double)bytes;
	if (value > -1024 && value < 1024) {
		snprintf(buffer, size, "%" PRId64 " B", bytes);
		return buffer;
	}
	size_t unit = 0;
	/* 1023.5: what would be shown as 1024 goes to the next unit. */
	for (value /= 1024; (value >= 1023.5 || value <= -1023.5) && unit < 5; unit++)
		value /= 1024;
	three_digits(value, units[unit], buffer, size);
	return buffer;
}

const char *mw_format_count(int64_t count, char *buffer, size_t size) {
	static const char *const units[] = {"k", "M", "G", "T", "P", "E"};
	double value = (double)count;
	/* Up to 5 digits people read at a glance. */
	if (value > -100000 && value < 100000) {
		snprintf(buffer, size, "%" PRId64, count);
		return buffer;
	}
	size_t unit = 0;
	for (value /= 1000; (value >= 999.5 || value <= -999.5) && unit < 5; unit++)
		value /= 1000;
	three_digits(value, units[unit], buffer, size);
	return buffer;
}

const char *mw_format_nanoseconds(int64_t nanoseconds, char *buffer, size_t size) {
	static const struct {
		const char *name;
		double factor; /* to the next */
	} units[] = {{" ns", 1000}, {" us", 1000}, {" ms", 1000},   {" s", 60},
		     {" min", 60},  {" h", 24},    {" d", INFINITY}};
	double value = (double)nanoseconds;
	size_t unit = 0;
	for (; value >= units[unit].factor * 0.9995 || value <= -units[unit].factor * 0.9995;
	     unit++)
		value /= units[unit].factor;
	three_digits(value, units[unit].name, buffer, size);
	return buffer;
}
