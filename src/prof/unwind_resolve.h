/* SPDX-License-Identifier: MIT
 * unwind_resolve.h -- the rule for a code address, from the cache or from the unwind tables.
 * Layer: prof.  Async-signal-safe; no locks. */
#ifndef MW_PROF_UNWIND_RESOLVE_H
#define MW_PROF_UNWIND_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "os/object.h"
#include "prof/unwind_rule.h"

/* What one walk keeps between frames. */
typedef struct mw_resolver {
	/* The object last asked for; text_hi == 0: none.  It cannot go while the walk lasts,
	 * because its code is on the stack. */
	mw_os_object_t object;
	/* Of all frames whose code may be unloaded: the sum of their objects' stamps.  Not
	 * complete: of some there is none. */
	uint64_t stamps;
	bool is_incomplete;
} mw_resolver_t;

static inline void mw_resolver_start(mw_resolver_t *resolver) {
	resolver->object.text_lo = resolver->object.text_hi = 0;
	resolver->stamps = 0;
	resolver->is_incomplete = false;
}

/* The rule that holds at `pc` (for a return address, that is the byte before it), where the cache
 * alone does not tell: `entry` is what it said, 0 for nothing. */
mw_rule_t mw_resolve(mw_resolver_t *resolver, uintptr_t pc, uint64_t entry);
/* Does the guard of the cache's entry hold?  Then it counts as resolved. */
bool mw_resolve_guarded(mw_resolver_t *resolver, uintptr_t pc, uint64_t entry);

#endif
