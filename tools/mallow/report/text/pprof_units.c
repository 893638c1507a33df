/* SPDX-License-Identifier: MIT
 * pprof_units.c -- lists of units. */
#include "report/text/pprof_units.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Units with pprof's names and alternative spellings. kB and larger units are powers of 1024,
 * too. */
static const mw_unit_t byte_units[] = {{"B", "b byte", 1, false},
				       {"kB", "kb kib kbyte kilobyte", 0x1p10, false},
				       {"MB", "mb mib mbyte megabyte", 0x1p20, false},
				       {"GB", "gb gib gbyte gigabyte", 0x1p30, false},
				       {"TB", "tb tib tbyte terabyte", 0x1p40, false},
				       {"PB", "pb pib pbyte petabyte", 0x1p50, false},
				       {NULL, NULL, 0, false}};
static const mw_unit_t time_units[] = {{"ns", "ns nanosecond", 1, false},
				       {"us", "us microsecond", 1e3, false},
				       {"ms", "ms millisecond", 1e6, false},
				       {"s", "s sec second", 1e9, false},
				       {"mins", "min minute", 60e9, true},
				       {"hrs", "hr hour", 3600e9, false},
				       {NULL, NULL, 0, false}};
static const mw_unit_t no_units[] = {{"", "count", 1, false}, {NULL, NULL, 0, false}};

static bool is_word(const char *words, const char *word, size_t length) {
	while (*words != '\0') {
		size_t next = strcspn(words, " ");
		if (next == length && strncasecmp(words, word, length) == 0)
			return true;
		words += next + (words[next] == ' ');
	}
	return false;
}

/* Plural names are accepted: "bytes". */
const mw_unit_t *mw_unit_find(const mw_unit_t *units, const char *name) {
	size_t length = strlen(name);
	if (length > 2 && (name[length - 1] == 's' || name[length - 1] == 'S'))
		length--;
	for (const mw_unit_t *u = units; u->name != NULL; u++)
		if (is_word(u->others, name, length))
			return u;
	return NULL;
}

const mw_unit_t *mw_units_of(const char *name) {
	if (strcmp(name, "bytes") == 0)
		return byte_units;
	return strcmp(name, "nanoseconds") == 0 ? time_units : no_units;
}

const mw_unit_t *mw_unit_named(const mw_unit_t *units, const char *name) {
	const mw_unit_t *found = mw_unit_find(units, name);
	return found != NULL ? found : units;
}

const mw_unit_t *mw_unit_fitting(const mw_unit_t *units, double value) {
	const mw_unit_t *best = units;
	for (const mw_unit_t *u = units; u->name != NULL; u++)
		if (value >= u->size && !u->by_name_only)
			best = u;
	return best;
}

bool mw_unit_is_known(const char *name) {
	return mw_unit_find(byte_units, name) != NULL || mw_unit_find(time_units, name) != NULL ||
	       mw_unit_find(no_units, name) != NULL;
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
