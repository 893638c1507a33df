/* SPDX-License-Identifier: MIT
 * unwind_resolve.h -- the rule for a code address, from the cache or from the unwind tables.
 * Layer: prof.  Async-signal-safe; no locks. */
#ifndef MW_PROF_UNWIND_RESOLVE_H
#define MW_PROF_UNWIND_RESOLVE_H

#include <stdint.h>

#include "os/object.h"
#include "prof/unwind_cache.h"
#include "prof/unwind_rule.h"

/* What one walk keeps between frames. */
typedef struct mw_resolver {
	/* The object last asked for that is not permanent; text_hi == 0: none.  It cannot go while
	 * the walk lasts, because its code is on the stack. */
	mw_os_object_t object;
	/* Holds a rule that found no room in the dictionary. */
	mw_rule_t unnamed;
} mw_resolver_t;

/* The slow part of mw_resolve(); `hit` is what the cache said. */
const mw_rule_t *mw_resolve_slow(mw_resolver_t *resolver, uintptr_t pc, mw_cache_hit_t hit);

/* The rule that holds at `pc`; for a return address that is the byte before.  Never NULL; valid
 * until the next call with the same resolver. */
MW_ALWAYS_INLINE const mw_rule_t *mw_resolve(mw_resolver_t *resolver, uintptr_t pc) {
	mw_cache_hit_t hit = mw_cache_find(pc);
	if (MW_LIKELY(hit.rule_id != 0 && !hit.is_guarded))
		return mw_rule_get(hit.rule_id);
	return mw_resolve_slow(resolver, pc, hit);
}

#endif
