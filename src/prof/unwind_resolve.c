/* SPDX-License-Identifier: MIT
 * unwind_resolve.c -- looks rules up in the objects' tables and guards those that may go stale. */
#include "prof/unwind_resolve.h"

#include <string.h>

#include "base/compiler.h"
#include "os/arch.h"
#include "prof/unwind_cfi.h"

/* The object that holds pc: the one of the previous frame, most often. */
static const mw_os_object_t *find_object(mw_resolver_t *resolver, uintptr_t pc) {
	mw_os_object_t *object = &resolver->object;
	if (pc >= object->text_lo && pc < object->text_hi)
		return object;
	if (mw_os_object_find(pc, object))
		return object;
	object->text_lo = object->text_hi = 0;
	return NULL;
}

static mw_cfi_area_t area_of(const mw_os_object_t *object) {
	return (mw_cfi_area_t){(const uint8_t *)object->data_lo,  // NOLINT: a mapped segment
			       (const uint8_t *)object->data_hi}; // NOLINT
}

/* A guard: where the FDE stands in its segment, and a hash that binds its bytes, the address and
 * the rule.  0 when the FDE cannot be guarded. */
static uint64_t make_guard(const mw_os_object_t *object, uint32_t fde_offset, uintptr_t pc,
			   uint32_t rule_id) {
	mw_cfi_area_t area = area_of(object);
	if (fde_offset >= (uintptr_t)(area.hi - area.lo))
		return 0;
	uint64_t digest = mw_cfi_digest(&area, area.lo + fde_offset);
	if (digest == 0)
		return 0;
	digest = (digest ^ pc ^ (uint64_t)rule_id << 48) * 0x9e3779b97f4a7c15u;
	return (uint64_t)fde_offset << 32 | digest >> 32;
}

static bool guard_holds(mw_resolver_t *resolver, uintptr_t pc, mw_cache_hit_t hit) {
	const mw_os_object_t *object = find_object(resolver, pc);
	if (!object || object->eh_frame_hdr == 0 || hit.guard == 0)
		return false;
	return make_guard(object, (uint32_t)(hit.guard >> 32), pc, hit.rule_id) == hit.guard;
}

/* The FDE that covers pc; NULL if none does. */
static const uint8_t *find_fde(const mw_os_object_t *object, uintptr_t pc, mw_cfi_fde_t *fde) {
	mw_cfi_area_t area = area_of(object);
	const uint8_t *hdr = (const uint8_t *)object->eh_frame_hdr; // NOLINT: in the area
	const uint8_t *fde_at = mw_cfi_search(&area, hdr, pc);
	if (!fde_at || !mw_cfi_parse(&area, fde_at, fde) || pc < fde->pc_lo || pc >= fde->pc_hi)
		return NULL;
	return fde_at;
}

/* Reads the tables.  `fde_offset` stays UINT32_MAX when no FDE has a say. */
static mw_rule_t read_rule(const mw_os_object_t *object, uintptr_t pc, uint32_t *fde_offset) {
	const mw_rule_t by_frame_pointer = {.kind = MW_RULE_FRAME_POINTER};
	*fde_offset = UINT32_MAX;
	if (!MW_OS_HAS_CFI_RULES || object->eh_frame_hdr == 0)
		return by_frame_pointer;
	mw_cfi_fde_t fde;
	const uint8_t *fde_at = find_fde(object, pc, &fde);
	if (!fde_at) {
		/* No call returns to the first byte of a function behind padding: such an address
		 * was laid there for a new context to return to, as makecontext(3) does. */
		if (find_fde(object, pc + 1, &fde) && fde.pc_lo == pc + 1)
			return (mw_rule_t){.kind = MW_RULE_END};
		return by_frame_pointer;
	}
	uintptr_t offset = (uintptr_t)fde_at - object->data_lo;
	if (offset < UINT32_MAX)
		*fde_offset = (uint32_t)offset;
	return mw_cfi_rule(&fde, pc);
}

static void remember(const mw_os_object_t *object, uintptr_t pc, uint32_t rule_id,
		     uint32_t fde_offset) {
	if (object->is_permanent) {
		mw_cache_put(pc, rule_id);
		return;
	}
	/* That there is no FDE could not be checked later: such frames are looked up each time. */
	uint64_t guard = fde_offset == UINT32_MAX ? 0 : make_guard(object, fde_offset, pc, rule_id);
	if (guard != 0)
		mw_cache_put_guarded(pc, rule_id, guard);
}

MW_NOINLINE const mw_rule_t *mw_resolve_slow(mw_resolver_t *resolver, uintptr_t pc,
					     mw_cache_hit_t hit) {
	if (hit.rule_id != 0 && hit.is_guarded && guard_holds(resolver, pc, hit))
		return mw_rule_get(hit.rule_id);
	const mw_os_object_t *object = find_object(resolver, pc);
	if (!object) {
		/* Generated code, most often: such compilers keep frame pointers. */
		resolver->unnamed = (mw_rule_t){.kind = MW_RULE_FRAME_POINTER};
		return &resolver->unnamed;
	}
	uint32_t fde_offset;
	resolver->unnamed = read_rule(object, pc, &fde_offset);
	uint32_t rule_id = mw_rule_intern(&resolver->unnamed);
	if (rule_id == 0)
		return &resolver->unnamed;
	remember(object, pc, rule_id, fde_offset);
	return mw_rule_get(rule_id);
}
