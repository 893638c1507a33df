/* SPDX-License-Identifier: MIT
 * growth.h -- which calls made the heap grow: a stack for each MiB or more that memory in use rose
 * above its highest value so far.
 * Calls with one stack are one entry.  There is room for some thousand stacks; growth by others is
 * counted for a stack without frames. */
#ifndef MW_COMPAT_GPERFTOOLS_PROFILE_GROWTH_H
#define MW_COMPAT_GPERFTOOLS_PROFILE_GROWTH_H

#include <stddef.h>

#include "api/compat/compat_calls.h"

/* Records from now on. */
void mw_gp_growth_start(void);
/* Copies up to `max` entries, those that grew last first: number of calls and bytes as in-use
 * counts.  Returns how many there are. */
size_t mw_gp_growth_read(mw_compat_stack_t *entries, size_t max);

#endif
