/* SPDX-License-Identifier: MIT
 * leak_names.h -- names for the addresses of stacks, from pprof.
 * Layer: compat/gperftools/checker. What the functions allocate is no part of a profile. */
#ifndef MW_COMPAT_GPERFTOOLS_CHECKER_LEAK_NAMES_H
#define MW_COMPAT_GPERFTOOLS_CHECKER_LEAK_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "api/compat_calls.h"

typedef struct mw_gp_names {
	char *text;       /* of all lines, each ended by '\0'; NULL: no names are known */
	const char *next; /* the name of the next address */
	const char *end;
} mw_gp_names_t;

/* Has pprof, or the program in PPROF_PATH, name the addresses of the stacks, in order. Prints a
 * warning if it does not. */
mw_gp_names_t mw_gp_names_get(const mw_compat_stack_t *stacks, size_t count);
/* Returns the name of the next address; "": it is not known. */
const char *mw_gp_names_next(mw_gp_names_t *names);
void mw_gp_names_free(mw_gp_names_t *names);

#endif
