/* SPDX-License-Identifier: MIT
 * realloc_calls.h -- finds the places in the program that call realloc() themselves, by the
 * instructions: no frame of a stack says so.
 * Layer: cmd/advise. */
#ifndef MW_TOOL_CMD_ADVISE_REALLOC_CALLS_H
#define MW_TOOL_CMD_ADVISE_REALLOC_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/profile.h"

typedef struct mw_realloc_calls {
	bool *is_realloc; /* is_realloc[i]: location i is a call of it */
	size_t count;
} mw_realloc_calls_t;

/* Looks at innermost frames that allocated at least a hundredth of all bytes, in several sizes.
 * `pid` as in mw_symbolize_options_t. */
void mw_realloc_calls_find(mw_realloc_calls_t *calls, const mw_profile_t *profile, uint32_t pid);
void mw_realloc_calls_free(mw_realloc_calls_t *calls);

/* An mw_fact_callee_t; the context is an mw_realloc_calls_t. */
const char *mw_realloc_calls_name(void *context, uint32_t location);

#endif
