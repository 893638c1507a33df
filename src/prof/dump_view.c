/* SPDX-License-Identifier: MIT
 * dump_view.c -- counters and frames, read beside those who write them. */
#include "prof/dump_view.h"

#include "prof/depot.h"
#include "prof/image.h"
#include "prof/parts.h"

/* Usable bytes of a block for a request of 0 bytes: the smallest size class. */
#define ZERO_REQUEST_USABLE_BYTES 16

static uint64_t used_of(const _Atomic uint64_t *counter) {
	return atomic_load_explicit(counter, memory_order_acquire);
}

static int64_t counter(const _Atomic int64_t *value) {
	return atomic_load_explicit(value, memory_order_relaxed);
}

static int64_t rounded(int64_t q16) {
	return q16 > 0 ? q16 / 65536 + (q16 % 65536 >= 32768) : 0;
}

/* Of all entries of a stack. */
static int64_t sum(const mw_parts_t *parts, size_t offset) {
	int64_t sum = 0;
	for (unsigned i = 0; i < parts->count; i++) {
		const char *entry = mw_image_entry(MW_SECTION_STACKS, parts->stacks[i]);
		sum += counter((const _Atomic int64_t *)(const void *)(entry + offset));
	}
	return sum;
}

static int64_t objects(const mw_parts_t *parts, size_t offset) {
	return rounded(sum(parts, offset));
}

static int64_t at_least_0(int64_t value) {
	return value > 0 ? value : 0;
}

static int64_t bytes(const mw_parts_t *parts, size_t offset) {
	return at_least_0(sum(parts, offset));
}

/* The part of the requests for 0 bytes, of which only objects are counted. */
static void split(int64_t *all_objects, int64_t *all_bytes, int64_t *zero_objects,
		  int64_t *zero_bytes) {
	if (*zero_objects > *all_objects)
		*zero_objects = *all_objects;
	*zero_bytes = *all_bytes;
	if (*zero_objects < *all_objects && *zero_objects < *all_bytes / ZERO_REQUEST_USABLE_BYTES)
		*zero_bytes = *zero_objects * ZERO_REQUEST_USABLE_BYTES;
	if (*zero_objects == 0)
		*zero_bytes = 0;
	*all_objects -= *zero_objects;
	*all_bytes -= *zero_bytes;
}

bool mw_dump_is_zero(const mw_dump_counts_t *c) {
	return (c->alloc_objects | c->alloc_bytes | c->inuse_objects | c->inuse_bytes) == 0;
}

uint64_t mw_dump_stack_count(void) {
	return used_of(&mw_image_live()->stacks_used);
}

bool mw_dump_stack_at(uint64_t number, mw_dump_stack_t *result) {
	const mw_state_stack_t *stack = mw_image_entry(MW_SECTION_STACKS, number);
	mw_parts_t parts = mw_parts_all((uint32_t)number);
	mw_dump_counts_t sized = {
		.alloc_objects = objects(&parts, MW_STACK(alloc_objects_q16)),
		.alloc_bytes = bytes(&parts, MW_STACK(alloc_bytes)),
		.inuse_objects = objects(&parts, MW_STACK(live_objects_q16)),
		.inuse_bytes = bytes(&parts, MW_STACK(live_bytes)),
	};
	if (mw_dump_is_zero(&sized))
		return false;
	mw_dump_counts_t zero = {
		.alloc_objects = objects(&parts, MW_STACK(alloc_zero_objects_q16)),
		.inuse_objects = objects(&parts, MW_STACK(live_zero_objects_q16)),
	};
	split(&sized.alloc_objects, &sized.alloc_bytes, &zero.alloc_objects, &zero.alloc_bytes);
	split(&sized.inuse_objects, &sized.inuse_bytes, &zero.inuse_objects, &zero.inuse_bytes);
	/* Its description was written before the first count (prof/depot.c). */
	atomic_thread_fence(memory_order_acquire);
	*result = (mw_dump_stack_t){.sized = sized,
				    .zero = zero,
				    .depth = stack->depth,
				    .node = stack->node,
				    .truncated = (stack->flags & MW_STACK_TRUNCATED) != 0};
	return true;
}

/* What became of samples. */
typedef struct lives {
	int64_t freed_q16, elsewhere_q16, temporary_q16, us;
} lives_t;

static void add_life(lives_t *sum, const mw_state_stack_t *stack) {
	uint32_t number = atomic_load_explicit(&stack->life, memory_order_relaxed);
	if (number == 0)
		return;
	const mw_state_life_t *life = mw_image_entry(MW_SECTION_LIVES, number);
	for (int i = 0; i < MW_LIFE_DECADES; i++)
		sum->freed_q16 += counter(&life->decades_q16[i]);
	sum->elsewhere_q16 += counter(&life->other_thread_q16);
	sum->temporary_q16 += counter(&life->temporary_q16);
	if (__builtin_add_overflow(sum->us, counter(&life->object_us), &sum->us))
		sum->us = INT64_MAX;
}

/* Of an entry: changed since the peak, or not. */
static void add_peak(int64_t *objects_q16, int64_t *bytes_then, const mw_state_stack_t *stack,
		     uint32_t peak) {
	bool kept = atomic_load_explicit(&stack->peak_number, memory_order_relaxed) == peak;
	*objects_q16 += counter(kept ? &stack->peak_objects_q16 : &stack->live_objects_q16);
	*bytes_then += counter(kept ? &stack->peak_bytes : &stack->live_bytes);
}

void mw_dump_details_at(uint64_t number, int64_t values[MW_DUMP_TYPES]) {
	mw_parts_t parts = mw_parts_all((uint32_t)number);
	uint32_t peak = atomic_load_explicit(&mw_image_live()->peak_number, memory_order_relaxed);
	int64_t peak_q16 = 0, peak_bytes = 0;
	lives_t lives = {0};
	for (unsigned i = 0; i < parts.count; i++) {
		const mw_state_stack_t *entry = mw_image_entry(MW_SECTION_STACKS, parts.stacks[i]);
		add_peak(&peak_q16, &peak_bytes, entry, peak);
		add_life(&lives, entry);
	}
	for (unsigned i = MW_DUMP_COMMON_TYPES; i < MW_DUMP_TYPES; i++)
		values[i] = 0;
	if (peak != 0) {
		values[MW_DUMP_PEAK_OBJECTS] = rounded(peak_q16);
		values[MW_DUMP_PEAK_SPACE] = at_least_0(peak_bytes);
	}
	values[MW_DUMP_ALLOC_REQUESTED] = bytes(&parts, MW_STACK(alloc_requested_bytes));
	values[MW_DUMP_INUSE_REQUESTED] = bytes(&parts, MW_STACK(live_requested_bytes));
	values[MW_DUMP_ALLOC_SAMPLES] = sum(&parts, MW_STACK(alloc_samples));
	values[MW_DUMP_INUSE_SAMPLES] = sum(&parts, MW_STACK(live_samples));
	values[MW_DUMP_FREED_OBJECTS] = rounded(lives.freed_q16);
	values[MW_DUMP_FREED_ELSEWHERE] = rounded(lives.elsewhere_q16);
	values[MW_DUMP_TEMPORARY_OBJECTS] = rounded(lives.temporary_q16);
	if (__builtin_mul_overflow(at_least_0(lives.us), 1000, &values[MW_DUMP_LIFETIME]))
		values[MW_DUMP_LIFETIME] = INT64_MAX;
}

uint64_t mw_dump_module_count(void) {
	return used_of(&mw_image_live()->modules_used);
}

const mw_state_module_t *mw_dump_module(uint64_t number) {
	return mw_image_entry(MW_SECTION_MODULES, number);
}

uint64_t mw_dump_frame_module(uint64_t frame) {
	uint64_t module = frame >> MW_FRAME_MODULE_SHIFT & MW_FRAME_MODULE_MAX;
	return module <= mw_dump_module_count() ? module : 0;
}

void mw_dump_write_trace(mw_out_t *out, uint64_t number) {
	const mw_state_stack_t *stack = mw_image_entry(MW_SECTION_STACKS, number);
	uint32_t node = stack->node;
	mw_out_print(out, "[");
	for (unsigned i = 0; node != 0; i++) {
		uint64_t frame = mw_depot_frame(mw_depot_next_frame(&node));
		uint64_t pc = mw_dump_frame_address(frame) + !(frame & MW_FRAME_EXACT);
		mw_out_print(out, "%s\"0x%lx\"", i ? "," : "", (unsigned long)pc);
	}
	mw_out_print(out, "]");
}

uint64_t mw_dump_frame_address(uint64_t frame) {
	uint64_t module = mw_dump_frame_module(frame), address = frame & MW_FRAME_ADDRESS_MASK;
	if (module)
		address += mw_dump_module(module - 1)->bias;
	return address - (!(frame & MW_FRAME_EXACT) && address > 0);
}
