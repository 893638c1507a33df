/* SPDX-License-Identifier: MIT
 * leak_calls.h -- leak checks for other interfaces.
 * Layer: api. Both functions return 0 or an error number as mallow_leak_check() does. */
#ifndef MW_API_LEAK_CALLS_H
#define MW_API_LEAK_CALLS_H

#include <stdint.h>

#include "api/compat/compat_calls.h"

/* Makes the check of mw_compat_calls_t.check_leaks. */
int mw_api_check_leaks(mw_compat_leak_check_t *wanted);
/* Checks, and stores the result in the state file, for `mallow leaks --last`. Sets the usable bytes
 * of leaked blocks. */
int mw_api_leaked_bytes(uint64_t *bytes);

#endif
