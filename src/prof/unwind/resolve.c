/* SPDX-License-Identifier: MIT
 * resolve.c -- finds rules in the objects' unwind tables, and makes guards for rules whose object
 * may be unloaded. */
#include "prof/unwind/resolve.h"

#include <string.h>

#include "os/platform/arch.h"
#include "os/unwind/object_table.h"
#include "prof/unwind/cfi/cfi.h"
#include "prof/unwind/program_frames.h"
#include "prof/unwind/rule/rule_cache.h"

/* Returns the object that contains pc, most often the object of the previous frame. */
static const mw_os_object_t *find_object(mw_resolver_t *resolver, uintptr_t pc) {
	mw_os_object_t *object = &resolver->object;
	if (pc >= object->text_lo && pc < object->text_hi)
		return object;
	if (mw_os_object_find(pc, object))
		return object;
	object->text_lo = object->text_hi = 0;
	return NULL;
}

/* Called once per frame. */
static void count_stamp(mw_resolver_t *resolver, const mw_os_object_t *object) {
	if (!object || (object->stamp == 0 && !object->is_permanent))
		resolver->is_incomplete = true;
	else
		resolver->stamps += object->stamp;
}

static mw_cfi_area_t area_of(const mw_os_object_t *object) {
	return (mw_cfi_area_t){(const uint8_t *)object->data_lo, (const uint8_t *)object->data_hi};
}

static uint64_t bind(uint64_t hash, uintptr_t pc, uint32_t code) {
	return (hash ^ pc ^ (uint64_t)code << 48) * 0x9e3779b97f4a7c15u;
}

/* For objects without a stamp: makes a guard from the FDE's position in its segment and a hash of
 * its bytes, the address and the rule. 0: the FDE cannot be guarded. */
static uint64_t guard_by_digest(const mw_os_object_t *object, uint32_t fde_offset, uintptr_t pc,
				uint32_t code) {
	mw_cfi_area_t area = area_of(object);
	if (fde_offset >= (uintptr_t)(area.hi - area.lo))
		return 0;
	uint64_t digest = mw_cfi_digest(&area, area.lo + fde_offset);
	return digest ? (uint64_t)fde_offset << 32 | bind(digest, pc, code) >> 32 : 0;
}

static bool guard_holds(const mw_os_object_t *object, uintptr_t pc, uint32_t code) {
	uint64_t guard = mw_cache_guard(pc);
	if (object && object->stamp != 0)
		return guard == bind(object->stamp, pc, code);
	if (!object || object->eh_frame_hdr == 0 || guard == 0)
		return false;
	return guard_by_digest(object, (uint32_t)(guard >> 32), pc, code) == guard;
}

bool mw_resolve_guarded(mw_resolver_t *resolver, uintptr_t pc, uint64_t entry) {
	const mw_os_object_t *object = find_object(resolver, pc);
	if (!guard_holds(object, pc, entry & MW_CACHE_CODE_MASK))
		return false;
	count_stamp(resolver, object);
	return true;
}

/* Returns the FDE that covers pc; NULL: none. */
static const uint8_t *find_fde(const mw_os_object_t *object, uintptr_t pc, mw_cfi_fde_t *fde) {
	mw_cfi_area_t area = area_of(object);
	const uint8_t *hdr = (const uint8_t *)object->eh_frame_hdr;
	const uint8_t *fde_at = hdr ? mw_cfi_search(&area, hdr, pc) : mw_program_frames_search(pc);
	if (!fde_at || !mw_cfi_parse(&area, fde_at, fde) || pc < fde->pc_lo || pc >= fde->pc_hi)
		return NULL;
	return fde_at;
}

/* Reads the rule from the tables. `fde_offset` stays UINT32_MAX if no FDE determines the rule. */
static mw_rule_t read_rule(const mw_os_object_t *object, uintptr_t pc, uint32_t *fde_offset) {
	const mw_rule_t by_frame_pointer = {.kind = MW_RULE_FRAME_POINTER};
	*fde_offset = UINT32_MAX;
	if (object->data_lo == object->data_hi)
		return by_frame_pointer;
	mw_cfi_fde_t fde;
	const uint8_t *fde_at = find_fde(object, pc, &fde);
	if (!fde_at) {
		/* No call returns to the first byte of a function behind padding: makecontext(3)
		 * put this address there as the return address of a new context. */
		if (find_fde(object, pc + 1, &fde) && fde.pc_lo == pc + 1)
			return (mw_rule_t){.kind = MW_RULE_END};
		return by_frame_pointer;
	}
	/* This also holds directly behind a function that does not end with a call. */
	if (pc + 1 == fde.pc_hi && (pc + 1) % sizeof(uint32_t) == 0 &&
	    !mw_os_may_follow_call((const uint32_t *)(pc + 1)))
		return (mw_rule_t){.kind = MW_RULE_END};
	uintptr_t offset = (uintptr_t)fde_at - object->data_lo;
	if (offset < UINT32_MAX)
		*fde_offset = (uint32_t)offset;
	return mw_cfi_rule(&fde, pc);
}

static void remember(const mw_os_object_t *object, uintptr_t pc, uint32_t code,
		     uint32_t fde_offset) {
	if (object->is_permanent) {
		mw_cache_put(pc, code);
		return;
	}
	/* Without a stamp, a later check could not tell that there is still no FDE: such frames are
	 * looked up every time. */
	uint64_t guard = 0;
	if (object->stamp != 0)
		guard = bind(object->stamp, pc, code);
	else if (fde_offset != UINT32_MAX)
		guard = guard_by_digest(object, fde_offset, pc, code);
	if (guard != 0)
		mw_cache_put_guarded(pc, code, guard);
}

/* Mostly generated code: such compilers keep frame pointers. Code of an object that is not known
 * yet has none perhaps, and a guess would name wrong callers. */
static MW_COLD mw_rule_t rule_of_unknown(mw_resolver_t *resolver, uintptr_t pc) {
	resolver->met_unknown = true;
	bool may_hide = mw_os_object_table_may_hide(pc);
	return (mw_rule_t){.kind = may_hide ? MW_RULE_LOST : MW_RULE_FRAME_POINTER};
}

mw_rule_t mw_resolve(mw_resolver_t *resolver, uintptr_t pc, uint64_t entry) {
	uint32_t code = entry & MW_CACHE_CODE_MASK, fde_offset;
	if (code != 0 && (!(entry & MW_CACHE_GUARDED) || mw_resolve_guarded(resolver, pc, entry)))
		return mw_rule_decode(code);
	const mw_os_object_t *object = find_object(resolver, pc);
	count_stamp(resolver, object);
	if (!object)
		return rule_of_unknown(resolver, pc);
	mw_rule_t rule = read_rule(object, pc, &fde_offset);
	code = mw_rule_encode(&rule);
	if (code != 0)
		remember(object, pc, code, fde_offset);
	return rule;
}
