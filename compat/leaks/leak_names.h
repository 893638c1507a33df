/* SPDX-License-Identifier: MIT
 * leak_names.h -- names for the addresses of stacks.
 * Layer: compat/leaks. What the functions allocate is no part of a profile. */
#ifndef MW_COMPAT_LEAKS_LEAK_NAMES_H
#define MW_COMPAT_LEAKS_LEAK_NAMES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compat/leaks/leak_search.h"

typedef struct mw_leaks_names {
	char *text;       /* of all lines, each ended by '\0'; NULL: no names are known */
	const char *next; /* the name of the next address */
	const char *end;
} mw_leaks_names_t;

/* Has a program name the addresses of the groups' stacks, in order: the one in PPROF_PATH, else
 * mallow's pprof beside this library, else pprof. `has_places`: a name is several words with tabs
 * between: the module, then function and place (file:line) of the address and of each function
 * that it was inlined into. Names are NULL if the program does not answer; `program` is then its
 * name. */
mw_leaks_names_t mw_leaks_names_get(const mw_leaks_group_t *groups, size_t count, bool has_places,
				    char program[PATH_MAX]);
/* Returns the name of the next address; "": it is not known. */
const char *mw_leaks_names_next(mw_leaks_names_t *names);
void mw_leaks_names_free(mw_leaks_names_t *names);

#endif
