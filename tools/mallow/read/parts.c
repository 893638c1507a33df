/* SPDX-License-Identifier: MIT
 * parts.c -- adds up the entries that threads have of one stack (src/prof/parts.h), so that nobody
 * behind sees more than one. */
#include "read/parts.h"

#include <stdlib.h>

#include "model/alloc.h"

/* Nothing in the file is believed: what would pass the ends of the numbers stays there. */
static int64_t sum(int64_t a, int64_t b) {
	int64_t result;
	if (__builtin_add_overflow(a, b, &result))
		return b > 0 ? INT64_MAX : INT64_MIN;
	return result;
}

static int64_t difference(int64_t a, int64_t b) {
	int64_t result;
	return __builtin_sub_overflow(a, b, &result) ? 0 : result;
}

#define ADD(to, from, field) ((to)->field = sum((to)->field, (from)->field))

/* What was live at the peak, beside what is now. */
static void settle_peak(mw_state_stack_t *stack, uint32_t peak_number) {
	if (stack->peak_number == peak_number)
		return;
	stack->peak_number = peak_number;
	stack->peak_objects_q16 = stack->live_objects_q16;
	stack->peak_bytes = stack->live_bytes;
}

static void add_counters(mw_state_stack_t *to, const mw_state_stack_t *part) {
	ADD(to, part, live_objects_q16);
	ADD(to, part, live_bytes);
	ADD(to, part, live_requested_bytes);
	ADD(to, part, live_zero_objects_q16);
	ADD(to, part, alloc_objects_q16);
	ADD(to, part, alloc_bytes);
	ADD(to, part, alloc_requested_bytes);
	ADD(to, part, alloc_zero_objects_q16);
	ADD(to, part, peak_objects_q16);
	ADD(to, part, peak_bytes);
	to->live_samples += part->live_samples;
	to->alloc_samples += part->alloc_samples;
}

static void add_life(mw_snapshot_t *snapshot, mw_state_stack_t *to, const mw_state_stack_t *part) {
	if (part->life == 0 || part->life >= snapshot->life_count)
		return;
	if (to->life == 0 || to->life >= snapshot->life_count) {
		to->life = part->life;
		return;
	}
	mw_state_life_t *sums = &snapshot->lives[to->life];
	const mw_state_life_t *life = &snapshot->lives[part->life];
	sums->samples += life->samples;
	ADD(sums, life, object_us);
	ADD(sums, life, other_thread_q16);
	ADD(sums, life, temporary_q16);
	for (int i = 0; i < MW_LIFE_DECADES; i++)
		ADD(sums, life, decades_q16[i]);
}

/* What the entries of the part's list leave of its own counters is of its first size. */
static mw_state_size_t first_size(const mw_snapshot_t *snapshot, const mw_state_stack_t *part,
				  uint32_t *oldest) {
	mw_state_size_t first = {.objects_q16 = part->alloc_objects_q16,
				 .bytes = part->alloc_bytes,
				 .requested_bytes = part->alloc_requested_bytes,
				 .samples = part->alloc_samples,
				 .usable_bytes = part->first_size_bytes};
	for (uint32_t i = part->sizes; i != 0; i = snapshot->sizes[i].next) {
		const mw_state_size_t *size = &snapshot->sizes[i];
		first.objects_q16 = difference(first.objects_q16, size->objects_q16);
		first.bytes = difference(first.bytes, size->bytes);
		first.requested_bytes = difference(first.requested_bytes, size->requested_bytes);
		first.samples -= size->samples < first.samples ? size->samples : first.samples;
		*oldest = i;
	}
	return first;
}

/* The part's list goes before the stack's, and its first size, if that is another, before both. */
static void add_sizes(mw_snapshot_t *snapshot, mw_state_stack_t *to, const mw_state_stack_t *part) {
	if (part->alloc_samples == 0)
		return;
	if (to->alloc_samples == 0) {
		to->first_size_bytes = part->first_size_bytes;
		to->sizes = part->sizes;
		return;
	}
	if (to->first_size_bytes == 0 || part->first_size_bytes == 0) {
		to->first_size_bytes = to->sizes = 0; /* not known */
		return;
	}
	uint32_t oldest = 0;
	mw_state_size_t first = first_size(snapshot, part, &oldest);
	if (oldest != 0) {
		snapshot->sizes[oldest].next = to->sizes;
		to->sizes = part->sizes;
	}
	if (part->first_size_bytes == to->first_size_bytes)
		return;
	snapshot->sizes =
		mw_xrealloc(snapshot->sizes, snapshot->size_count + 1, sizeof(*snapshot->sizes));
	first.next = to->sizes;
	snapshot->sizes[snapshot->size_count] = first;
	to->sizes = (uint32_t)snapshot->size_count++;
}

static void add_part(mw_snapshot_t *snapshot, mw_state_stack_t *to, mw_state_stack_t *part) {
	settle_peak(to, snapshot->live.peak_number);
	settle_peak(part, snapshot->live.peak_number);
	add_sizes(snapshot, to, part);
	add_life(snapshot, to, part);
	add_counters(to, part);
	/* It stays, as one that nothing was counted for. */
	*part = (mw_state_stack_t){.hash = part->hash, .node = part->node, .depth = part->depth};
}

static bool is_part(const mw_state_stack_t *stack) {
	return stack->flags >> MW_STACK_PART_SHIFT != 0 && stack->depth > 0;
}

static size_t place_of(const mw_state_stack_t *stack) {
	return (size_t)stack->node * 2 + (stack->flags & MW_STACK_TRUNCATED);
}

/* The whole stacks, by node (which were checked) and whether they are cut. */
static uint32_t *find_wholes(const mw_snapshot_t *snapshot) {
	uint32_t *wholes = mw_xcalloc(snapshot->node_count * 2 + 2, sizeof(*wholes));
	for (size_t i = 0; i < snapshot->stack_count; i++)
		if (snapshot->stacks[i].depth > 0 && !is_part(&snapshot->stacks[i]) &&
		    wholes[place_of(&snapshot->stacks[i])] == 0)
			wholes[place_of(&snapshot->stacks[i])] = (uint32_t)i;
	return wholes;
}

void mw_parts_fold(mw_snapshot_t *snapshot) {
	bool any = false;
	for (size_t i = 0; i < snapshot->stack_count; i++)
		any = any || is_part(&snapshot->stacks[i]);
	if (!any)
		return;
	uint32_t *wholes = find_wholes(snapshot);
	uint32_t *whole_of = mw_xcalloc(snapshot->stack_count, sizeof(*whole_of));
	for (size_t i = 0; i < snapshot->stack_count; i++) {
		mw_state_stack_t *stack = &snapshot->stacks[i];
		uint32_t whole = is_part(stack) ? wholes[place_of(stack)] : 0;
		whole_of[i] = whole != 0 ? whole : (uint32_t)i;
		if (whole == 0)
			continue;
		add_part(snapshot, &snapshot->stacks[whole], stack);
		snapshot->part_count++;
	}
	for (size_t i = 0; i < snapshot->record_count; i++)
		if (snapshot->records[i].stack < snapshot->stack_count)
			snapshot->records[i].stack = whole_of[snapshot->records[i].stack];
	free(wholes);
	free(whole_of);
}
