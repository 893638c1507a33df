/* SPDX-License-Identifier: MIT
 * kind.c -- the table of kinds. */
#include "store/kind.h"

#include <stddef.h>
#include <string.h>

const mw_kind_values_t mw_kinds[] = {
	{MW_KIND_HEAP,
	 "heap",
	 {{"inuse_objects", "count"},
	  {"inuse_space", "bytes"},
	  {"alloc_objects", "count"},
	  {"alloc_space", "bytes"}},
	 MW_VALUE_NOW_AMOUNT},
	{MW_KIND_MAPPED,
	 "mapped",
	 {{"inuse_mappings", "count"},
	  {"inuse_mapped", "bytes"},
	  {"alloc_mappings", "count"},
	  {"alloc_mapped", "bytes"}},
	 MW_VALUE_NOW_AMOUNT},
	{MW_KIND_CPU,
	 "cpu",
	 {{NULL, NULL}, {NULL, NULL}, {"samples", "count"}, {"cpu", "nanoseconds"}},
	 MW_VALUE_SINCE_AMOUNT},
	{MW_KIND_WALL,
	 "wall",
	 {{NULL, NULL}, {NULL, NULL}, {NULL, NULL}, {"wall", "nanoseconds"}},
	 MW_VALUE_SINCE_AMOUNT},
	{.name = NULL},
};

const mw_kind_values_t *mw_kind_values(mw_kind_t kind) {
	const mw_kind_values_t *values = mw_kinds;
	while (values[1].name != NULL && values->kind != kind)
		values++;
	return values;
}

const mw_kind_values_t *mw_kind_of_name(const char *name) {
	for (const mw_kind_values_t *k = mw_kinds; k->name != NULL; k++)
		if (strcmp(k->name, name) == 0)
			return k;
	return NULL;
}

bool mw_kind_is_in(mw_kind_t kind, const mw_profile_t *profile) {
	const mw_kind_values_t *k = mw_kind_values(kind);
	const char *type = k->values[k->standard].type;
	return mw_profile_find_type(profile, type) >= 0;
}
