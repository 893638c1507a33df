/* SPDX-License-Identifier: MIT
 * mapping_hooks.h -- makes the calls on mappings for the program, records them, and tells
 * the program's hook.
 * Layer: prof. Called instead of the next definition alone while mw_mappings_are_used(). Results
 * and errno are those of the functions of libc with the same names. Async-signal-safe. */
#ifndef MW_PROF_MAPPING_HOOKS_H
#define MW_PROF_MAPPING_HOOKS_H

#include "prof/mappings/mapping_call.h"
#include "prof/mappings/mappings.h"

/* Makes the call that is described, but for `result`, by `make`, and returns its result. */
typedef void *mw_make_mapping_call_t(const mw_mapping_call_t *call);
MW_COLD void *mw_mapping_call(mw_mapping_call_t *call, mw_make_mapping_call_t *make);

/* Sets the function that is called for each call; NULL: none. */
void mw_mapping_watch(mw_on_mapping_call_t *function);

#endif
