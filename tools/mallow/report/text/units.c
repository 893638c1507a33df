/* SPDX-License-Identifier: MIT
 * units.c -- formats numbers as three digits and a unit. */
#include "report/text/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Formats `value` with three digits. */
static void three_digits(double value, const char *unit, char *buffer, size_t size) {
	double size_of = value < 0 ? -value : value;
	/* The limits are the values where rounding changes the number of digits: 9.995 would
	 * become 10.00. */
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
	/* A value from 1023.5 on would be shown as 1024, so it takes the next unit. */
	for (value /= 1024; (value >= 1023.5 || value <= -1023.5) && unit < 5; unit++)
		value /= 1024;
	three_digits(value, units[unit], buffer, size);
	return buffer;
}

const char *mw_format_count(int64_t count, char *buffer, size_t size) {
	static const char *const units[] = {"k", "M", "G", "T", "P", "E"};
	double value = (double)count;
	/* Numbers of up to 5 digits are easy to read, so they are shown exactly. */
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

const char *mw_format_counted(int64_t count, const char *noun, char *buffer, size_t size) {
	char number[32];
	mw_format_count(count, number, sizeof(number));
	snprintf(buffer, size, "%s %s%s", number, noun, count == 1 ? "" : "s");
	return buffer;
}

double mw_seen_share(const mw_profile_t *p) {
	if (p->origin.stops == 0 || p->origin.counted_ns <= 0)
		return 1;
	return 1 - (double)p->origin.off_ns / (double)p->origin.counted_ns;
}

const char *mw_format_pauses(const mw_profile_t *p, char *buffer, size_t size) {
	char off[32], counted[32];
	double percent = 100 * mw_seen_share(p);
	buffer[0] = '\0';
	if (p->origin.stops > 0)
		snprintf(buffer, size,
			 "sampling was off %llu time%s for %s of %s: %.*f %% of the time was seen",
			 (unsigned long long)p->origin.stops, p->origin.stops == 1 ? "" : "s",
			 mw_format_nanoseconds(p->origin.off_ns, off, sizeof(off)),
			 mw_format_nanoseconds(p->origin.counted_ns, counted, sizeof(counted)),
			 percent > 99 && percent < 100 ? 2 : 0, percent);
	return buffer;
}

const char *mw_format_nanoseconds(int64_t nanoseconds, char *buffer, size_t size) {
	static const struct {
		const char *name;
		double factor; /* factor to the next unit */
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
