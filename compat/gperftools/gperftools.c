/* SPDX-License-Identifier: MIT
 * gperftools.c -- libmallow's table of functions. */
#include "compat/gperftools/gperftools.h"

#include <string.h>

#include "base/check.h"

const mw_compat_calls_t *mw_gp_calls(void) {
	static const mw_compat_calls_t *_Atomic known;
	const mw_compat_calls_t *calls = known;
	if (MW_LIKELY(calls != NULL))
		return calls;
	calls = mallow_compat_calls();
	if (strcmp(calls->version, MALLOW_VERSION) != 0)
		mw_fatal("libgperftools_mallow.so %s cannot use libmallow.so %s; install both of "
			 "one version",
			 MALLOW_VERSION, calls->version);
	known = calls;
	return calls;
}
