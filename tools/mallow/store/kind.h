/* SPDX-License-Identifier: MIT
 * kind.h -- which sample types of a profile are pushed and stored.
 * Layer: store.  A kind has up to four values a stack, two of the moment and two since the last
 * push.  Values of the moment are averaged over time, values since the last push are added up. */
#ifndef MW_TOOL_STORE_KIND_H
#define MW_TOOL_STORE_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "model/profile.h"

/* The numbers are stored: they do not change. */
typedef enum mw_kind {
	MW_KIND_HEAP = 1,
	MW_KIND_MAPPED = 2, /* memory that the program mapped itself */
	MW_KIND_CPU = 3,
	MW_KIND_WALL = 4,
} mw_kind_t;

enum {
	MW_VALUE_NOW_COUNT,
	MW_VALUE_NOW_AMOUNT, /* bytes */
	MW_VALUE_SINCE_COUNT,
	MW_VALUE_SINCE_AMOUNT, /* bytes, or nanoseconds */
	MW_VALUES,
};

typedef struct mw_kind_values {
	mw_kind_t kind;
	const char *name; /* "heap", "mapped", "cpu", "wall" */
	struct {
		const char *type, *unit; /* NULL: the kind has no such value */
	} values[MW_VALUES];
	int standard; /* the value that views show by default */
} mw_kind_values_t;

/* All kinds; ends with name == NULL. */
extern const mw_kind_values_t mw_kinds[];

const mw_kind_values_t *mw_kind_values(mw_kind_t kind);    /* never NULL */
const mw_kind_values_t *mw_kind_of_name(const char *name); /* NULL: there is none */
/* True if the profile has one of the kind's types. */
bool mw_kind_is_in(mw_kind_t kind, const mw_profile_t *profile);

#endif
