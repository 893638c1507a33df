/* SPDX-License-Identifier: MIT
 * pprof_units.c -- lists of units. */
#include "report/text/pprof_units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "report/text/units.h"

/* Units with pprof's names and alternative spellings. kB and larger units are powers of 1024,
 * too. Micro is written with either of Unicode's two letters, or with u. */
static const mw_unit_t byte_units[] = {{"B", "b byte", 1, false, true},
				       {"kB", "kb kib kbyte kilobyte", 0x1p10, false, false},
				       {"MB", "mb mib mbyte megabyte", 0x1p20, false, false},
				       {"GB", "gb gib gbyte gigabyte", 0x1p30, false, false},
				       {"TB", "tb tib tbyte terabyte", 0x1p40, false, false},
				       {"PB", "pb pib pbyte petabyte", 0x1p50, false, false},
				       {NULL, NULL, 0, false, false}};
static const mw_unit_t time_units[] = {
	{"ns", "ns nanosecond", 1, false, false},
	{"us", "us microsecond \u00b5 \u00b5second \u03bc \u03bcsecond", 1e3, false, false},
	{"ms", "ms millisecond", 1e6, false, false},
	{"s", "s sec second", 1e9, false, true},
	{"mins", "min minute", 60e9, true, false},
	{"hrs", "hr hour", 3600e9, false, false},
	{NULL, NULL, 0, false, false}};
static const mw_unit_t computing_units[] = {
	{"n*GCU", "nanogcu", 1e-9, false, false},  {"u*GCU", "microgcu", 1e-6, false, false},
	{"m*GCU", "milligcu", 1e-3, false, false}, {"GCU", "gcu", 1, false, true},
	{"k*GCU", "kilogcu", 1e3, false, false},   {"M*GCU", "megagcu", 1e6, false, false},
	{"G*GCU", "gigagcu", 1e9, false, false},   {"T*GCU", "teragcu", 1e12, false, false},
	{"P*GCU", "petagcu", 1e15, false, false},  {NULL, NULL, 0, false, false}};
static const mw_unit_t no_units[] = {{"", "count sample unit", 1, false, true},
				     {NULL, NULL, 0, false, false}};

static const mw_unit_t *const lists[] = {byte_units, time_units, computing_units, no_units};
enum { LISTS = sizeof(lists) / sizeof(lists[0]) };

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
	for (size_t i = 0; i < LISTS; i++)
		if (mw_unit_find(lists[i], name) != NULL)
			return lists[i];
	return no_units;
}

double mw_unit_size(const char *name) {
	const mw_unit_t *found = mw_unit_find(mw_units_of(name), name);
	return found != NULL ? found->size : 1;
}

static const mw_unit_t *standard_of(const mw_unit_t *units) {
	while (!units->is_standard)
		units++;
	return units;
}

const mw_unit_t *mw_unit_named(const mw_unit_t *units, const char *name) {
	const mw_unit_t *found = mw_unit_find(units, name);
	return found != NULL ? found : standard_of(units);
}

const mw_unit_t *mw_unit_fitting(const mw_unit_t *units, double value) {
	const mw_unit_t *best = NULL;
	for (const mw_unit_t *u = units; u->name != NULL; u++)
		if (value / u->size >= 1 && !u->by_name_only)
			best = u;
	return best != NULL ? best : standard_of(units);
}

bool mw_unit_is_known(const char *name) {
	for (size_t i = 0; i < LISTS; i++)
		if (mw_unit_find(lists[i], name) != NULL)
			return true;
	return false;
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

const char *mw_unit_for_people(int64_t value, const char *name, char *buffer, size_t size) {
	const mw_unit_t *units = mw_units_of(name);
	double factor = mw_unit_size(name), scaled = (double)value * factor;
	/* 2^63 itself is out of range. */
	double bounded = scaled > 0x1p62 ? 0x1p62 : scaled < -0x1p62 ? -0x1p62 : scaled;
	int64_t whole = factor > 1 ? (int64_t)bounded : value;
	if (units == byte_units)
		return mw_format_bytes(whole, buffer, size);
	if (units == time_units)
		return mw_format_nanoseconds(whole, buffer, size);
	return units == computing_units
		       ? mw_unit_text(mw_unit_fitting(units, fabs(scaled)), scaled, buffer, size)
		       : NULL;
}

static void convert(mw_profile_t *p, size_t type, double factor, const char *unit) {
	for (size_t i = 0; i < p->sample_count; i++) {
		int64_t *value = &p->values[i * p->type_count + type];
		double product = (double)*value * factor;
		product = product > 0x1p62 ? 0x1p62 : product < -0x1p62 ? -0x1p62 : product;
		*value = llround(product);
	}
	p->types[type].unit = mw_profile_intern(p, unit);
}

void mw_units_agree(mw_profile_t *a, mw_profile_t *b) {
	for (size_t i = 0; i < a->type_count; i++) {
		int k = mw_profile_find_type(b, mw_profile_string(a, a->types[i].type));
		const char *of_a = mw_profile_string(a, a->types[i].unit);
		const char *of_b = k < 0 ? of_a : mw_profile_string(b, b->types[k].unit);
		const mw_unit_t *units = mw_units_of(of_a);
		double size_a = mw_unit_size(of_a), size_b = mw_unit_size(of_b);
		if (units == no_units || units != mw_units_of(of_b))
			continue;
		if (size_a > size_b)
			convert(a, i, size_a / size_b, of_b);
		else if (size_b > size_a)
			convert(b, (size_t)k, size_b / size_a, of_a);
	}
}
