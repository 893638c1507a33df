/* SPDX-License-Identifier: MIT
 * slots.h -- words of global offset tables through which modules call the allocator.
 * Layer: live/loaded. */
#ifndef MW_TOOL_LIVE_LOADED_SLOTS_H
#define MW_TOOL_LIVE_LOADED_SLOTS_H

#include "live/loaded/allocator.h"
#include "live/loaded/loaded_modules.h"
#include "state/attach.h"

typedef struct mw_slots {
	mw_attach_slot_t *items;
	size_t count, capacity;
	size_t modules; /* that have slots */
	size_t unbound; /* of `count`: not used yet; they lead to the dynamic linker */
	size_t others;  /* left out: they hold the address of another function */
	/* Left out: the dynamic linker has not relocated their module yet. */
	size_t early;
	/* Left out: more than MW_ATTACH_SLOTS_MAX, or in a table that is damaged. */
	size_t left_out;
} mw_slots_t;

/* Finds the slots of all modules.  Each is 8 aligned bytes inside of its module, in private memory
 * that is writable, or was until the module was relocated, and holds the function's address or, not
 * used yet, an address in the module's own code.  The caller calls mw_slots_free(). */
void mw_slots_find(const mw_address_space_t *space, const mw_modules_t *modules,
		   const mw_allocator_t *allocator, mw_slots_t *out);
void mw_slots_free(mw_slots_t *slots);

#endif
