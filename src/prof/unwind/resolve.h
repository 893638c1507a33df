/* SPDX-License-Identifier: MIT
 * resolve.h -- finds the rule for a code address in the cache or in the unwind tables.
 * Layer: prof/unwind.  Async-signal-safe; no locks. */
#ifndef MW_PROF_UNWIND_RESOLVE_H
#define MW_PROF_UNWIND_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "os/unwind/object.h"
#include "prof/unwind/rule/rule.h"

/* State of one walk between frames. */
typedef struct mw_resolver {
	/* The last object that was looked up; text_hi == 0: none. It cannot be unloaded during the
	 * walk, because its code is on the stack. */
	mw_os_object_t object;
	/* Sum of the stamps of the objects of all frames whose code may be unloaded. Incomplete if
	 * an object has no stamp. */
	uint64_t stamps;
	bool is_incomplete;
	bool met_unknown; /* an address in no known object */
} mw_resolver_t;

static inline void mw_resolver_start(mw_resolver_t *resolver) {
	resolver->object.text_lo = resolver->object.text_hi = 0;
	resolver->stamps = 0;
	resolver->is_incomplete = resolver->met_unknown = false;
}

/* Returns the rule that holds at `pc` (of a return address: at the byte before), if the cache alone
 * does not tell. `entry`: the cache's entry; 0: none. */
mw_rule_t mw_resolve(mw_resolver_t *resolver, uintptr_t pc, uint64_t entry);
/* Returns whether the guard of the cache's entry is valid; the frame then counts as resolved. */
bool mw_resolve_guarded(mw_resolver_t *resolver, uintptr_t pc, uint64_t entry);

#endif
