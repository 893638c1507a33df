/* SPDX-License-Identifier: MIT
 * between.c -- computes the allocations between two snapshots of one process. */
#include "formats/state/state_file.h"

#include <stdlib.h>

#include "formats/state/builder.h"
#include "state/stats.h"

/* Less is in each process: stacks, data of libraries. */
#define PROCESS_MIN_BYTES ((uint64_t)8 << 20)
#define HEAP_SHARE_MIN 4u

bool mw_heap_is_minor(uint64_t heap_bytes, uint64_t process_bytes) {
	return process_bytes >= PROCESS_MIN_BYTES && heap_bytes < process_bytes / HEAP_SHARE_MIN;
}

uint64_t mw_snapshot_heap_bytes(const mw_snapshot_t *snapshot) {
	const _Atomic uint64_t *stats = snapshot->live.stats;
	int64_t live = snapshot->live.live_bytes;
	uint64_t sum = stats[MW_STAT_in_use_bytes] + stats[MW_STAT_dirty_bytes] +
		       stats[MW_STAT_huge_bytes] + stats[MW_STAT_huge_cached_bytes];
	return live > 0 && (uint64_t)live > sum ? (uint64_t)live : sum;
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
	/* These values cover the whole run, not the time between the snapshots. */
	stack->peak_objects_q16 = 0;
	stack->peak_bytes = 0;
	stack->peak_number = 0;
	stack->lifetimes = 0;
}

static void add_live(mw_state_stack_t *stack, const mw_state_record_t *record) {
	int64_t objects_q16 = (int64_t)record->weight_q16;
	stack->live_objects_q16 += objects_q16;
	stack->live_bytes += mw_record_weigh(record, record->usable_bytes);
	stack->live_requested_bytes += mw_record_weigh(record, record->requested_bytes);
	if (record->requested_bytes == 0)
		stack->live_zero_objects_q16 += objects_q16;
	stack->live_samples++;
}

void mw_snapshot_since(mw_snapshot_t *after, const mw_snapshot_t *before, uint64_t since_ns) {
	/* After a reset, all counters started from 0, so nothing is subtracted. */
	bool same = before->live.generation == after->live.generation;
	for (size_t i = 0; i < after->stack_count; i++) {
		mw_state_stack_t *stack = &after->stacks[i];
		/* With another hash the entry is another stack's; the one before was taken out, and
		 * its counters were added to entry 0. */
		bool is_there = i < before->stack_count && before->stacks[i].hash == stack->hash;
		if (same && i < before->stack_count)
			take_back(is_there ? stack : &after->stacks[0], &before->stacks[i]);
		forget_live(stack);
	}
	for (size_t i = 0; i < after->record_count; i++) {
		const mw_state_record_t *record = &after->records[i];
		if (record->time_ns >= since_ns && record->stack < after->stack_count)
			add_live(&after->stacks[record->stack], record);
	}
	after->live.peak_number = 0;
	after->live.stops = 0;
	free(after->records);
	after->records = NULL;
	after->record_count = 0;
}

bool mw_snapshot_was_reset(const mw_snapshot_t *after, const mw_snapshot_t *before,
			   double *seconds) {
	if (after->live.resets_done == before->live.resets_done)
		return false;
	double since = (double)(after->taken_ns - (int64_t)after->live.reset_realtime_ns) / 1e9;
	/* The file may say anything, and somebody may have set the clock. */
	if (since >= 0 && since < *seconds)
		*seconds = since;
	return true;
}

static void forget_allocated(mw_state_stack_t *stack) {
	const mw_state_stack_t all = *stack;
	take_back(stack, &all);
	stack->first_size_bytes = 0;
	stack->sizes = 0;
}

int64_t mw_snapshot_made_ns(const mw_snapshot_t *s, const mw_state_record_t *record) {
	/* Unsigned arithmetic, because a damaged file may hold any value. */
	uint64_t zero_ns = s->header.created_realtime_ns - s->header.created_monotonic_ns;
	return (int64_t)(zero_ns + record->time_ns);
}

void mw_snapshot_made_between(mw_snapshot_t *s, int64_t from_ns, int64_t until_ns) {
	size_t kept = 0;
	for (size_t i = 0; i < s->stack_count; i++) {
		forget_live(&s->stacks[i]);
		forget_allocated(&s->stacks[i]);
	}
	for (size_t i = 0; i < s->record_count; i++) {
		const mw_state_record_t record = s->records[i];
		int64_t time_ns = mw_snapshot_made_ns(s, &record);
		if (time_ns < from_ns || time_ns >= until_ns || record.stack >= s->stack_count)
			continue;
		add_live(&s->stacks[record.stack], &record);
		s->records[kept++] = record;
	}
	s->record_count = kept;
	s->live.peak_number = 0;
}

void mw_snapshot_cpu_since(mw_snapshot_t *after, const mw_snapshot_t *before) {
	bool same = before->live.resets_done == after->live.resets_done;
	size_t common = before->cpu_count < after->cpu_count ? before->cpu_count : after->cpu_count;
	for (size_t i = 0; same && i < common; i++) {
		mw_state_cpu_t *now = &after->cpu[i];
		const mw_state_cpu_t *then = &before->cpu[i];
		bool is_more = now->samples >= then->samples && now->time_ns >= then->time_ns;
		now->samples -= is_more ? then->samples : now->samples;
		now->time_ns -= is_more ? then->time_ns : now->time_ns;
	}
	if (!same)
		return;
	after->live.cpu_ns -= before->live.cpu_ns;
	after->live.wall_ns -= before->live.wall_ns;
	after->live.cpu_samples -= before->live.cpu_samples;
	after->live.cpu_truncated -= before->live.cpu_truncated;
	after->live.cpu_dropped -= before->live.cpu_dropped;
}
