/* SPDX-License-Identifier: MIT
 * groups.c -- sorts the records and adds up records that belong to one group. */
#include "formats/state/groups.h"

#include <stdlib.h>

#include "formats/state/builder.h"
#include "model/memory.h"

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int compare(const void *left, const void *right) {
	const mw_group_t *a = left, *b = right;
	int order = COMPARE(a->stack, b->stack);
	if (order == 0)
		order = COMPARE(a->thread_id, b->thread_id);
	if (order == 0)
		order = COMPARE(a->usable_bytes, b->usable_bytes);
	if (order == 0)
		order = COMPARE(a->age, b->age);
	if (order == 0)
		order = COMPARE(a->made_ns, b->made_ns);
	if (order == 0)
		order = COMPARE(a->address, b->address);
	return order ? order : COMPARE(a->zero_request, b->zero_request);
}

/* Returns the snapshot's time by CLOCK_MONOTONIC, the clock of the records. */
static uint64_t monotonic_now(const mw_snapshot_t *snapshot) {
	const mw_state_header_t *header = &snapshot->header;
	return header->created_monotonic_ns +
	       ((uint64_t)snapshot->time_ns - header->created_realtime_ns);
}

static unsigned decade_of(uint64_t ns) {
	unsigned decade = 0;
	for (uint64_t limit_ns = MW_LIFETIME_FIRST_NS;
	     decade < MW_LIFETIME_DECADES - 1 && ns >= limit_ns; limit_ns *= 10)
		decade++;
	return decade;
}

static mw_group_t group_of(const mw_state_record_t *record, uint64_t now_ns) {
	return (mw_group_t){
		.stack = record->stack,
		.thread_id = record->thread_id,
		.usable_bytes = record->usable_bytes,
		.zero_request = record->requested_bytes == 0,
		/* A record made after the last update counts as made at the update. */
		.age = decade_of(now_ns > record->time_ns ? now_ns - record->time_ns : 0),
		.objects_q16 =
			record->weight_q16 > INT64_MAX ? INT64_MAX : (int64_t)record->weight_q16,
		.bytes = mw_record_weigh(record, record->usable_bytes),
		.requested_bytes = mw_record_weigh(record, record->requested_bytes),
		.samples = 1,
	};
}

static void add(int64_t *sum, int64_t value) {
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = INT64_MAX;
}

mw_group_t *mw_group_records(const mw_snapshot_t *snapshot, size_t *count) {
	size_t records = snapshot->record_count, groups = 0;
	uint64_t now_ns = monotonic_now(snapshot);
	mw_group_t *all = mw_xcalloc(records, sizeof(*all));
	for (size_t i = 0; i < records; i++) {
		all[i] = group_of(&snapshot->records[i], now_ns);
		if (snapshot->keeps_times)
			all[i].made_ns = mw_snapshot_made_ns(snapshot, &snapshot->records[i]);
		if (snapshot->keeps_addresses && all[i].usable_bytes >= MW_LARGE_BLOCK_BYTES)
			all[i].address = snapshot->records[i].address;
	}
	qsort(all, records, sizeof(*all), compare);
	for (size_t i = 0; i < records; i++) {
		if (groups == 0 || compare(&all[groups - 1], &all[i]) != 0) {
			all[groups++] = all[i];
			continue;
		}
		mw_group_t *group = &all[groups - 1];
		add(&group->objects_q16, all[i].objects_q16);
		add(&group->bytes, all[i].bytes);
		add(&group->requested_bytes, all[i].requested_bytes);
		add(&group->samples, 1);
	}
	*count = groups;
	return all;
}
