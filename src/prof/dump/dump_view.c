/* SPDX-License-Identifier: MIT
 * dump_view.c -- reads counters and frames while other threads write them. */
#include "prof/dump/dump_view.h"

#include "prof/store/store.h"
#include "prof/table/depot.h"

/* Usable bytes of a block for a request of 0 bytes, which has the smallest size class. */
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

static int64_t at_least_0(int64_t value) {
	return value > 0 ? value : 0;
}

static int64_t objects(const _Atomic int64_t *value) {
	return rounded(counter(value));
}

static int64_t bytes(const _Atomic int64_t *value) {
	return at_least_0(counter(value));
}

/* Separates requests for 0 bytes, of which only the number is counted. */
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
	return used_of(&mw_store_live()->stacks_used);
}

static bool read_counts(const mw_state_stack_t *stack, mw_dump_counts_t *counts) {
	*counts = (mw_dump_counts_t){
		.alloc_objects = objects(&stack->alloc_objects_q16),
		.alloc_bytes = bytes(&stack->alloc_bytes),
		.inuse_objects = objects(&stack->live_objects_q16),
		.inuse_bytes = bytes(&stack->live_bytes),
	};
	return !mw_dump_is_zero(counts);
}

bool mw_dump_mapping_at(uint64_t number, mw_dump_stack_t *result) {
	const mw_state_stack_t *stack = mw_store_private(MW_SECTION_STACKS, number);
	mw_dump_counts_t counts;
	if (!(stack->flags & MW_STACK_MAPPING) || !read_counts(stack, &counts))
		return false;
	/* The stack's description was written before its first count (prof/table/depot.c). */
	atomic_thread_fence(memory_order_acquire);
	*result = (mw_dump_stack_t){.sized = counts,
				    .depth = stack->depth,
				    .node = stack->node,
				    .truncated = (stack->flags & MW_STACK_TRUNCATED) != 0};
	return true;
}

bool mw_dump_has_mappings(void) {
	uint64_t count = mw_dump_stack_count();
	for (uint64_t i = 0; i < count; i++) {
		const mw_state_stack_t *stack = mw_store_private(MW_SECTION_STACKS, i);
		if (stack->flags & MW_STACK_MAPPING)
			return true;
	}
	return false;
}

bool mw_dump_stack_at(uint64_t number, mw_dump_stack_t *result) {
	const mw_state_stack_t *stack = mw_store_private(MW_SECTION_STACKS, number);
	mw_dump_counts_t sized;
	if ((stack->flags & MW_STACK_MAPPING) || !read_counts(stack, &sized))
		return false;
	mw_dump_counts_t zero = {
		.alloc_objects = objects(&stack->alloc_zero_objects_q16),
		.inuse_objects = objects(&stack->live_zero_objects_q16),
	};
	split(&sized.alloc_objects, &sized.alloc_bytes, &zero.alloc_objects, &zero.alloc_bytes);
	split(&sized.inuse_objects, &sized.inuse_bytes, &zero.inuse_objects, &zero.inuse_bytes);
	/* The stack's description was written before its first count (prof/table/depot.c). */
	atomic_thread_fence(memory_order_acquire);
	*result = (mw_dump_stack_t){.sized = sized,
				    .zero = zero,
				    .depth = stack->depth,
				    .node = stack->node,
				    .truncated = (stack->flags & MW_STACK_TRUNCATED) != 0};
	return true;
}

void mw_dump_details_at(uint64_t number, int64_t values[MW_DUMP_TYPES]) {
	const mw_state_stack_t *stack = mw_store_private(MW_SECTION_STACKS, number);
	uint32_t peak = atomic_load_explicit(&mw_store_live()->peak_number, memory_order_relaxed);
	/* true: the stack has changed since the peak */
	bool kept = atomic_load_explicit(&stack->peak_number, memory_order_relaxed) == peak;
	/* Entry 0 belongs to no stack and is all zero. Pairs with the fence in
	 * prof/table/lifetimes.c. */
	uint32_t life_number = atomic_load_explicit(&stack->lifetimes, memory_order_acquire);
	const mw_state_lifetimes_t *lifetimes = mw_store_private(MW_SECTION_LIFETIMES, life_number);
	int64_t freed_q16 = 0;
	for (int i = 0; i < MW_LIFETIME_DECADES; i++)
		freed_q16 += counter(&lifetimes->decades_q16[i]);
	for (unsigned i = MW_DUMP_COMMON_TYPES; i < MW_DUMP_TYPES; i++)
		values[i] = 0;
	if (peak != 0) {
		values[MW_DUMP_PEAK_OBJECTS] =
			objects(kept ? &stack->peak_objects_q16 : &stack->live_objects_q16);
		values[MW_DUMP_PEAK_SPACE] = bytes(kept ? &stack->peak_bytes : &stack->live_bytes);
	}
	values[MW_DUMP_ALLOC_REQUESTED] = bytes(&stack->alloc_requested_bytes);
	values[MW_DUMP_INUSE_REQUESTED] = bytes(&stack->live_requested_bytes);
	values[MW_DUMP_ALLOC_SAMPLES] =
		(int64_t)atomic_load_explicit(&stack->alloc_samples, memory_order_relaxed);
	values[MW_DUMP_INUSE_SAMPLES] =
		(int64_t)atomic_load_explicit(&stack->live_samples, memory_order_relaxed);
	values[MW_DUMP_FREED_OBJECTS] = rounded(freed_q16);
	values[MW_DUMP_FREED_ELSEWHERE] = objects(&lifetimes->other_thread_q16);
	values[MW_DUMP_TEMPORARY_OBJECTS] = objects(&lifetimes->temporary_q16);
	if (__builtin_mul_overflow(bytes(&lifetimes->object_us), 1000, &values[MW_DUMP_LIFETIME]))
		values[MW_DUMP_LIFETIME] = INT64_MAX;
}

uint64_t mw_dump_module_count(void) {
	return used_of(&mw_store_live()->modules_used);
}

const mw_state_module_t *mw_dump_module(uint64_t number) {
	return mw_store_private(MW_SECTION_MODULES, number);
}

uint64_t mw_dump_frame_module(uint64_t frame) {
	uint64_t module = frame >> MW_FRAME_MODULE_SHIFT & MW_FRAME_MODULE_MAX;
	return module <= mw_dump_module_count() ? module : 0;
}

uint64_t mw_dump_function_count(void) {
	return used_of(&mw_store_live()->functions_used);
}

const mw_state_function_t *mw_dump_function(uint64_t number) {
	return mw_store_private(MW_SECTION_FUNCTIONS, number);
}

unsigned mw_dump_text(uint32_t number, char text[MW_TEXT_BYTES_MAX]) {
	if (number == 0)
		return 0;
	uint64_t bytes = *(const uint64_t *)mw_store_private(MW_SECTION_TEXTS, number + 1);
	if (bytes > MW_TEXT_BYTES_MAX)
		return 0;
	for (unsigned at = 0; at < bytes; at++) {
		const char *word =
			mw_store_private(MW_SECTION_TEXTS, number + MW_TEXT_HEAD_ENTRIES + at / 8);
		text[at] = (unsigned char)word[at % 8] < ' ' ? '?' : word[at % 8];
	}
	return (unsigned)bytes;
}

bool mw_dump_is_script(uint64_t module) {
	return module != 0 && mw_script_is_module(mw_dump_module(module - 1)->start);
}

static uint64_t return_address(uint64_t frame) {
	return mw_dump_frame_address(frame) + !(frame & MW_FRAME_EXACT);
}

unsigned mw_dump_return_addresses(uint64_t number, uint64_t *pcs, unsigned max) {
	const mw_state_stack_t *stack = mw_store_private(MW_SECTION_STACKS, number);
	unsigned depth = 0;
	for (uint32_t node = stack->node; node != 0 && depth < max;)
		pcs[depth++] = return_address(mw_depot_frame(mw_depot_next_frame(&node)));
	return depth;
}

void mw_dump_write_trace(mw_writer_t *out, uint64_t number) {
	const mw_state_stack_t *stack = mw_store_private(MW_SECTION_STACKS, number);
	uint32_t node = stack->node;
	mw_writer_print(out, "[");
	for (unsigned i = 0; node != 0; i++) {
		uint64_t frame = mw_depot_frame(mw_depot_next_frame(&node));
		mw_writer_print(out, "%s\"0x%lx\"", i ? "," : "",
				(unsigned long)return_address(frame));
	}
	mw_writer_print(out, "]");
}

uint64_t mw_dump_frame_address(uint64_t frame) {
	uint64_t module = mw_dump_frame_module(frame), address = frame & MW_FRAME_ADDRESS_MASK;
	if (module)
		address += mw_dump_module(module - 1)->bias;
	return address - (!(frame & MW_FRAME_EXACT) && address > 0);
}
