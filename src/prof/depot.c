/* SPDX-License-Identifier: MIT
 * depot.c -- hashing and insertion of stacks. */
#include "prof/depot.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/check.h"
#include "os/file.h"
#include "os/map.h"
#include "prof/image.h"

/* Slots for each stack the section holds: at most half full, runs stay short. */
#define SLOTS_PER_STACK 2u
/* The table has parts, each eight times the one before, and the last is half of it: few stacks
 * touch few pages, where hashes would scatter them over all.  A part is passed over when its run of
 * the hash is full; slots are never emptied, so a stack is always met before the first empty one.
 */
#define FIRST_PART_LOG2 10u /* one page */
#define PART_GROWTH_LOG2 3u
/* In parts that are not the last, so that many stacks do not pay much for them. */
#define PART_PROBES 4u
/* A longer run than this in a table half full is as good as "full". */
#define PROBES_MAX 256u

static struct {
	_Atomic uint32_t *slots; /* 0: empty, else the number of a stack */
	uint64_t slots_count;    /* a power of two */
} depot;

bool mw_depot_start(void) {
	uint64_t slots = mw_image_header()->sections[MW_SECTION_STACKS].capacity * SLOTS_PER_STACK;
	size_t bytes = slots * sizeof *depot.slots;
	void *base = mw_os_reserve(-1, 0, bytes);
	if (base && !mw_os_open_range(base, bytes)) {
		mw_os_unmap(base, bytes);
		base = NULL;
	}
	depot.slots = base;
	depot.slots_count = slots;
	return base != NULL;
}

/* Folds a 128-bit product: each bit of the inputs reaches all of the result. */
static uint64_t fold(uint64_t a, uint64_t b) {
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_of(const uint64_t *frames, unsigned depth, unsigned flags) {
	/* Odd constants with irregular bits (of the fractions of sqrt 2 and sqrt 3). */
	uint64_t hash = 0x6a09e667f3bcc909u ^ depth ^ (uint64_t)flags << 32;
	for (unsigned i = 0; i < depth; i++)
		hash = fold(hash ^ frames[i], 0xbb67ae8584caa73bu) + i;
	hash = fold(hash, 0x9e3779b97f4a7c15u);
	return hash ? hash : 1; /* 0 marks entry 0 */
}

static bool is_same(uint32_t number, uint64_t hash, const uint64_t *frames, unsigned depth,
		    unsigned flags) {
	const mw_state_stack_t *stack = mw_image_entry(MW_SECTION_STACKS, number);
	return stack->hash == hash && stack->depth == depth && stack->flags == flags &&
	       memcmp(mw_image_entry(MW_SECTION_FRAMES, stack->frame_first), frames,
		      depth * sizeof *frames) == 0;
}

/* Writes a new entry; 0 when a section is full. */
static uint32_t append(uint64_t hash, const uint64_t *frames, unsigned depth, unsigned flags) {
	uint64_t first = mw_image_take(MW_SECTION_FRAMES, depth);
	if (first == MW_IMAGE_NO_ENTRY) {
		mw_image_set_flag(MW_STATE_FRAMES_FULL);
		return 0;
	}
	for (unsigned i = 0; i < depth; i++)
		mw_twin_set64(mw_image_twin(MW_SECTION_FRAMES, first + i), 0, frames[i]);
	uint64_t number = mw_image_take(MW_SECTION_STACKS, 1);
	if (number == MW_IMAGE_NO_ENTRY) {
		mw_image_set_flag(MW_STATE_STACKS_FULL);
		return 0;
	}
	mw_state_stack_t head = {.hash = hash,
				 .frame_first = (uint32_t)first,
				 .depth = (uint16_t)depth,
				 .flags = (uint16_t)flags};
	/* Only the description: the counters behind it are zero. */
	mw_twin_copy(mw_image_twin(MW_SECTION_STACKS, number), &head,
		     offsetof(mw_state_stack_t, live_objects_q16));
	return (uint32_t)number;
}

typedef struct search {
	const uint64_t *frames;
	unsigned depth, flags;
	uint64_t hash;
	uint32_t added; /* entry made for this stack; 0: none yet */
	bool is_full;
} search_t;

/* Looks through the hash's run in the part of `count` slots: the stack's number, or 0. */
static uint32_t find_in_part(search_t *search, _Atomic uint32_t *slots, uint64_t count,
			     unsigned probes) {
	for (unsigned probe = 0; probe < probes; probe++) {
		_Atomic uint32_t *slot = &slots[(search->hash + probe) & (count - 1)];
		/* Pairs with the release of the exchange below: the entry is complete. */
		uint32_t number = atomic_load_explicit(slot, memory_order_acquire);
		if (number == 0) {
			if (!search->added)
				search->added = append(search->hash, search->frames, search->depth,
						       search->flags);
			search->is_full = !search->added;
			if (search->is_full)
				return 0;
			if (atomic_compare_exchange_strong_explicit(slot, &number, search->added,
								    memory_order_release,
								    memory_order_acquire))
				return search->added;
		}
		/* Another thread may have added the same stack first: its entry counts, and ours
		 * stays without counts, which readers leave out. */
		if (is_same(number, search->hash, search->frames, search->depth, search->flags))
			return number;
	}
	return 0;
}

static uint32_t find(const uint64_t *frames, unsigned depth, unsigned flags) {
	search_t search = {.frames = frames,
			   .depth = depth,
			   .flags = flags,
			   .hash = hash_of(frames, depth, flags)};
	/* A part begins where its size says, behind all smaller ones: [0, 2^10), [2^13, 2^14) .. */
	uint64_t part = (uint64_t)1 << FIRST_PART_LOG2, begin = 0, all = depot.slots_count;
	for (; part <= all / 4; begin = part <<= PART_GROWTH_LOG2) {
		uint32_t number = find_in_part(&search, depot.slots + begin, part, PART_PROBES);
		if (number || search.is_full)
			return number;
	}
	begin = begin ? all / 2 : 0;
	uint32_t number = find_in_part(&search, depot.slots + begin, all - begin, PROBES_MAX);
	if (!number && !search.is_full)
		mw_image_set_flag(MW_STATE_STACKS_FULL);
	return number;
}

uint32_t mw_depot_find(const uint64_t *frames, unsigned depth, bool truncated) {
	if (depth == 0)
		return 0;
	uint32_t number = find(frames, depth, truncated ? MW_STACK_TRUNCATED : 0);
	/* The leaf alone says who called malloc; it is often there already. */
	if (number == 0 && depth > 1)
		number = find(frames, 1, MW_STACK_TRUNCATED);
	return number;
}

unsigned mw_depot_depth(uint32_t number) {
	const mw_state_stack_t *stack = mw_image_entry(MW_SECTION_STACKS, number);
	return stack->depth;
}

const void *mw_depot_slots(void) {
	return (const void *)depot.slots;
}

uint64_t mw_depot_slots_bytes(void) {
	return depot.slots_count * sizeof *depot.slots;
}
