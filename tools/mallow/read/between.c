/* SPDX-License-Identifier: MIT
 * between.c -- what happened between two snapshots of one process. */
#include "read/state_file.h"

#include <stdlib.h>

static int64_t weigh(uint64_t weight_q16, uint64_t bytes) {
	unsigned __int128 product = (unsigned __int128)weight_q16 * bytes + 32768;
	product >>= 16;
	return product > INT64_MAX ? INT64_MAX : (int64_t)product;
}

static void take_back(mw_state_stack_t *now, const mw_state_stack_t *then) {
	now->alloc_objects_q16 -= then->alloc_objects_q16;
	now->alloc_bytes -= then->alloc_bytes;
	now->alloc_requested_bytes -= then->alloc_requested_bytes;
	now->alloc_zero_objects_q16 -= then->alloc_zero_objects_q16;
	now->alloc_samples -= then->alloc_samples;
}

static void forget_live(mw_state_stack_t *stack) {
	stack->live_objects_q16 = 0;
	stack->live_bytes = 0;
	stack->live_requested_bytes = 0;
	stack->live_zero_objects_q16 = 0;
	stack->live_samples = 0;
	/* Of the whole run, not of this time. */
	stack->peak_objects_q16 = 0;
	stack->peak_bytes = 0;
	stack->peak_number = 0;
	stack->life = 0;
}

static void add_live(mw_state_stack_t *stack, const mw_state_record_t *record) {
	int64_t objects_q16 = (int64_t)record->weight_q16;
	stack->live_objects_q16 += objects_q16;
	stack->live_bytes += weigh(record->weight_q16, record->usable_bytes);
	stack->live_requested_bytes += weigh(record->weight_q16, record->requested_bytes);
	if (record->requested_bytes == 0)
		stack->live_zero_objects_q16 += objects_q16;
	stack->live_samples++;
}

void mw_snapshot_since(mw_snapshot_t *after, const mw_snapshot_t *before, uint64_t since_ns) {
	/* A reset in between: all that is there came after it. */
	bool same = before->live.generation == after->live.generation;
	for (size_t i = 0; i < after->stack_count; i++) {
		mw_state_stack_t *stack = &after->stacks[i];
		if (same && i < before->stack_count && before->stacks[i].hash == stack->hash)
			take_back(stack, &before->stacks[i]);
		forget_live(stack);
	}
	for (size_t i = 0; i < after->record_count; i++) {
		const mw_state_record_t *record = &after->records[i];
		if (record->time_ns >= since_ns && record->stack < after->stack_count)
			add_live(&after->stacks[record->stack], record);
	}
	after->live.peak_number = 0;
	free(after->records);
	after->records = NULL;
	after->record_count = 0;
}
