/* SPDX-License-Identifier: MIT
 * dwarf_units.c -- lists the ranges of all units. */
#include "symbol/elf/dwarf_units.h"

#include <stdlib.h>

#include "model/memory.h"

/* Most units of a file: ten times as many as the largest known programs have. */
#define UNITS_MAX ((size_t)1 << 20)

static int compare_ranges(const void *a, const void *b) {
	const mw_unit_range_t *x = a, *y = b;
	return x->low < y->low ? -1 : x->low > y->low;
}

void mw_units_list(mw_units_t *units, Dwfl_Module *module) {
	Dwarf_Addr bias, base, low, high;
	Dwarf_Die *unit = NULL;
	for (size_t i = 0; i < UNITS_MAX; i++) {
		unit = dwfl_module_nextcu(module, unit, &bias);
		if (unit == NULL)
			break;
		ptrdiff_t offset = 0;
		while ((offset = dwarf_ranges(unit, offset, &base, &low, &high)) > 0) {
			/* Ranges that start at 0 belong to functions that the linker removed. */
			if (low == 0 || high <= low)
				continue;
			units->ranges = mw_grow(units->ranges, &units->capacity, units->count + 1,
						sizeof(mw_unit_range_t));
			units->ranges[units->count++] = (mw_unit_range_t){low, high, unit};
		}
	}
	if (units->count > 0)
		qsort(units->ranges, units->count, sizeof(mw_unit_range_t), compare_ranges);
}

Dwarf_Die *mw_units_find(mw_units_t *units, uint64_t address) {
	/* After the loop, `low` counts the ranges that start at or before `address`. */
	size_t low = 0, high = units->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (units->ranges[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address >= units->ranges[low - 1].high)
		return NULL;
	return units->ranges[low - 1].unit;
}

void mw_units_release(mw_units_t *units) {
	free(units->ranges);
}
