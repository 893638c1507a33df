/* SPDX-License-Identifier: MIT
 * units.c -- the lists of units. */
#include "view/units.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* pprof's names, of which kB and the others are powers of 1024, too. */
static const mw_unit_t byte_units[] = {
	{"B", "bytes", 1},     {"kB", "KiB", 0x1p10}, {"MB", "MiB", 0x1p20}, {"GB", "GiB", 0x1p30},
	{"TB", "TiB", 0x1p40}, {"PB", "PiB", 0x1p50}, {NULL, NULL, 0}};
static const mw_unit_t time_units[] = {
	{"ns", "nanoseconds", 1}, {"us", "microseconds", 1e3}, {"ms", "milliseconds", 1e6},
	{"s", "seconds", 1e9},    {"mins", "minutes", 60e9},   {"hrs", "hours", 3600e9},
	{NULL, NULL, 0}};
static const mw_unit_t no_units[] = {{"", "count", 1}, {NULL, NULL, 0}};

static const mw_unit_t *find(const mw_unit_t *units, const char *name) {
	for (const mw_unit_t *u = units; u->name != NULL; u++)
		if (strcasecmp(u->name, name) == 0 || strcasecmp(u->other, name) == 0)
			return u;
	return NULL;
}

const mw_unit_t *mw_units_of(const char *name) {
	if (strcmp(name, "bytes") == 0)
		return byte_units;
	return strcmp(name, "nanoseconds") == 0 ? time_units : no_units;
}

const mw_unit_t *mw_unit_named(const mw_unit_t *units, const char *name) {
	const mw_unit_t *found = find(units, name);
	return found != NULL ? found : units;
}

const mw_unit_t *mw_unit_fitting(const mw_unit_t *units, double value) {
	const mw_unit_t *best = units;
	for (const mw_unit_t *u = units; u->name != NULL; u++)
		if (value >= u->size)
			best = u;
	return best;
}

bool mw_unit_is_known(const char *name) {
	return find(byte_units, name) != NULL || find(time_units, name) != NULL ||
	       find(no_units, name) != NULL;
}

const char *mw_unit_text(const mw_unit_t *unit, double value, char *buffer, size_t size) {
	int length = snprintf(buffer, size, "%.2f", value / unit->size);
	if (length > 3 && strcmp(buffer + length - 3, ".00") == 0)
		buffer[length -= 3] = '\0';
	if (strcmp(buffer, "-0") == 0)
		return "0";
	if (strcmp(buffer, "0") != 0)
		snprintf(buffer + length, size - (size_t)length, "%s", unit->name);
	return buffer;
}
