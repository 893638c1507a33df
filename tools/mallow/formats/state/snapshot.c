/* SPDX-License-Identifier: MIT
 * snapshot.c -- makes a profile of a snapshot of a state file. */
#include "formats/state/state_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/state/builder.h"
#include "formats/state/groups.h"
#include "model/memory.h"

/* Usable bytes of a block for a request of 0 bytes: the size of the smallest size class. */
#define ZERO_REQUEST_USABLE_BYTES 16

/* Indices of the sample types, in the order of mw_profile_add_heap_types(),
 * mw_profile_add_state_types() and mw_profile_add_mapping_types(). The profile may lack the last.
 */
enum {
#define MW_SAMPLE_TYPE(name, text, unit) name,
#include "state/sample_types.def"
#undef MW_SAMPLE_TYPE
	HEAP_TYPE_COUNT,
	/* With room for the types that cpu_profile.c adds, which samples of the heap have as 0. */
	TYPE_COUNT = HEAP_TYPE_COUNT + MW_CPU_STATES
};

_Static_assert((int)MW_DECADES == (int)MW_LIFETIME_DECADES, "a name for each");

static int64_t from_q16(int64_t value) {
	return value > 0 ? value / 65536 + (value % 65536 >= 32768) : 0;
}

static int64_t at_least_0(int64_t value) {
	return value > 0 ? value : 0;
}

/* Returns the bytes of the zero-size requests among `objects`.  The file counts only their
 * objects. */
static int64_t zero_bytes(int64_t zero_objects, int64_t objects, int64_t bytes) {
	if (zero_objects >= objects)
		return bytes;
	int64_t estimate;
	if (__builtin_mul_overflow(zero_objects, ZERO_REQUEST_USABLE_BYTES, &estimate))
		return bytes;
	return estimate < bytes ? estimate : bytes;
}

static bool any(const int64_t values[TYPE_COUNT]) {
	for (int i = 0; i < TYPE_COUNT; i++)
		if (values[i] != 0)
			return true;
	return false;
}

static void add_sample(mw_builder_t *b, const int64_t values[TYPE_COUNT], const mw_label_t *labels,
		       size_t label_count) {
	if (any(values))
		mw_profile_add_sample(b->profile, b->locations, b->depth, values, labels,
				      label_count);
}

/* Bytes that a stack held at the peak (state/layout.h). */
static int64_t peak_of(const mw_snapshot_t *snapshot, const mw_state_stack_t *stack) {
	return stack->peak_number == snapshot->live.peak_number ? stack->peak_bytes
								: stack->live_bytes;
}

/* Sets the values of the types peak_objects and peak_space. */
static void set_peak(const mw_builder_t *b, const mw_state_stack_t *stack,
		     int64_t values[TYPE_COUNT]) {
	uint32_t number = b->snapshot->live.peak_number;
	bool changed_since = stack->peak_number == number;
	if (number == 0)
		return;
	values[PEAK_OBJECTS] =
		from_q16(changed_since ? stack->peak_objects_q16 : stack->live_objects_q16);
	values[PEAK_SPACE] = at_least_0(peak_of(b->snapshot, stack));
}

static void set_life(const mw_state_lifetimes_t *life, int64_t values[TYPE_COUNT]) {
	int64_t objects_q16 = 0;
	for (int i = 0; i < MW_LIFETIME_DECADES; i++)
		if (__builtin_add_overflow(objects_q16, at_least_0(life->decades_q16[i]),
					   &objects_q16))
			objects_q16 = INT64_MAX;
	values[FREED_OBJECTS] = from_q16(objects_q16);
	values[FREED_ELSEWHERE] = from_q16(life->other_thread_q16);
	values[TEMPORARY_OBJECTS] = from_q16(life->temporary_q16);
	if (__builtin_mul_overflow(at_least_0(life->object_us), 1000, &values[LIFETIME]))
		values[LIFETIME] = INT64_MAX;
}

static void set_values(const mw_builder_t *b, const mw_state_stack_t *stack,
		       int64_t values[TYPE_COUNT]) {
	values[ALLOC_OBJECTS] = from_q16(stack->alloc_objects_q16);
	values[ALLOC_SPACE] = at_least_0(stack->alloc_bytes);
	values[ALLOC_REQUESTED] = at_least_0(stack->alloc_requested_bytes);
	values[ALLOC_SAMPLES] = mw_clamped(stack->alloc_samples);
	values[INUSE_OBJECTS] = from_q16(stack->live_objects_q16);
	values[INUSE_SPACE] = at_least_0(stack->live_bytes);
	values[INUSE_REQUESTED] = at_least_0(stack->live_requested_bytes);
	values[INUSE_SAMPLES] = mw_clamped(stack->live_samples);
	set_peak(b, stack, values);
	if (stack->lifetimes != 0 && stack->lifetimes < b->snapshot->life_count)
		set_life(&b->snapshot->lifetimes[stack->lifetimes], values);
}

/* Moves `value` from one sample of a stack to another, so that their sum stays equal to the
 * counters. */
static void move(int64_t *from, int64_t *to, int64_t value) {
	if (value > *from)
		value = *from;
	*to += value;
	*from -= value;
}

/* Moves the values of requests for 0 bytes into a sample of their own. */
static void split_zero(const mw_state_stack_t *stack, int64_t values[TYPE_COUNT],
		       int64_t zero[TYPE_COUNT]) {
	const int64_t objects[] = {
		[ALLOC_OBJECTS] = from_q16(stack->alloc_zero_objects_q16),
		[INUSE_OBJECTS] = from_q16(stack->live_zero_objects_q16),
	};
	for (int i = 0; i <= INUSE_OBJECTS; i += 2) {
		int64_t count = objects[i] < values[i] ? objects[i] : values[i];
		if (count <= 0)
			continue;
		int64_t bytes = zero_bytes(count, values[i], values[i + 1]);
		move(&values[i], &zero[i], count);
		move(&values[i + 1], &zero[i + 1], bytes);
	}
}

/* Returns the group's part of its size class's free bytes.  Each block in use counts the same,
 * because the file does not tell which page holds a block that is not sampled. */
static int64_t pinned_bytes(const mw_snapshot_t *snapshot, const mw_group_t *group) {
	for (size_t i = 0; i < snapshot->class_count; i++) {
		const mw_state_class_t *class = &snapshot->classes[i];
		if (class->block_bytes == 0 || class->block_bytes != group->usable_bytes ||
		    class->used_bytes == 0 || class->touched_bytes <= class->used_bytes)
			continue;
		double each = (double)(class->touched_bytes - class->used_bytes) /
			      (double)class->used_bytes;
		double bytes = each * (double)group->bytes;
		/* The estimate of the bytes in use may exceed the bytes that the class has. */
		double most = (double)(class->touched_bytes - class->used_bytes);
		bytes = bytes < most ? bytes : most;
		return bytes < 0x1p62 ? (int64_t)bytes : 0;
	}
	return 0;
}

static mw_label_t size_label(mw_builder_t *b, uint64_t usable_bytes) {
	return (mw_label_t){.key = mw_profile_intern(b->profile, MW_LABEL_SIZE),
			    .number = mw_clamped(usable_bytes),
			    .unit = mw_profile_intern(b->profile, "bytes")};
}

static void add_group(mw_builder_t *b, const mw_group_t *group, int64_t objects,
		      int64_t values[TYPE_COUNT]) {
	mw_profile_t *p = b->profile;
	const mw_string_t bytes = mw_profile_intern(p, "bytes");
	mw_label_t labels[7] = {
		size_label(b, group->usable_bytes),
		{.key = mw_profile_intern(p, MW_LABEL_THREAD),
		 .text = mw_builder_thread_name(b, group->thread_id)},
		{.key = mw_profile_intern(p, MW_LABEL_THREAD_ID), .number = group->thread_id},
		{.key = mw_profile_intern(p, MW_LABEL_AGE),
		 .text = mw_profile_intern(p, mw_decade_names[group->age])},
	};
	size_t label_count = 4;
	if (group->zero_request)
		labels[label_count++] =
			(mw_label_t){.key = mw_profile_intern(p, MW_LABEL_REQUEST), .unit = bytes};
	if (b->snapshot->keeps_times)
		labels[label_count++] = (mw_label_t){.key = mw_profile_intern(p, MW_LABEL_MADE),
						     .number = group->made_ns,
						     .unit = mw_profile_intern(p, "nanoseconds")};
	if (group->address != 0)
		labels[label_count++] = (mw_label_t){.key = mw_profile_intern(p, MW_LABEL_ADDRESS),
						     .number = mw_clamped(group->address)};
	int64_t part[TYPE_COUNT] = {0};
	move(&values[INUSE_OBJECTS], &part[INUSE_OBJECTS], objects);
	move(&values[INUSE_SPACE], &part[INUSE_SPACE], group->bytes);
	move(&values[INUSE_REQUESTED], &part[INUSE_REQUESTED], group->requested_bytes);
	move(&values[INUSE_SAMPLES], &part[INUSE_SAMPLES], group->samples);
	part[PINNED_SPACE] = pinned_bytes(b->snapshot, group);
	add_sample(b, part, labels, label_count);
}

/* Adds the live samples of stack `number`.  Its groups are the next in the array. */
static void add_groups(mw_builder_t *b, uint32_t number, int64_t values[TYPE_COUNT]) {
	int64_t sum_q16 = 0, before = 0;
	while (b->group_next < b->group_count && b->groups[b->group_next].stack < number)
		b->group_next++;
	for (; b->group_next < b->group_count && b->groups[b->group_next].stack == number;
	     b->group_next++) {
		const mw_group_t *group = &b->groups[b->group_next];
		/* Rounds the running sum rather than each part, so that the parts add up to the
		 * total. */
		if (__builtin_add_overflow(sum_q16, group->objects_q16, &sum_q16))
			sum_q16 = INT64_MAX;
		add_group(b, group, from_q16(sum_q16) - before, values);
		before = from_q16(sum_q16);
	}
}

static void add_lifetimes(mw_builder_t *b, const mw_state_lifetimes_t *life,
			  int64_t values[TYPE_COUNT]) {
	int64_t sum_q16 = 0, before = 0;
	for (int i = 0; i < MW_LIFETIME_DECADES; i++) {
		if (__builtin_add_overflow(sum_q16, at_least_0(life->decades_q16[i]), &sum_q16))
			sum_q16 = INT64_MAX;
		int64_t part[TYPE_COUNT] = {0};
		move(&values[FREED_OBJECTS], &part[FREED_OBJECTS], from_q16(sum_q16) - before);
		before = from_q16(sum_q16);
		mw_label_t label = {
			.key = mw_profile_intern(b->profile, MW_LABEL_LIFETIME),
			.text = mw_profile_intern(b->profile, mw_decade_names[i]),
		};
		add_sample(b, part, &label, 1);
	}
}

/* Adds a sample for the `objects` allocated in one size, and subtracts its values from `values`. */
static void add_size(mw_builder_t *b, const mw_state_size_t *size, int64_t objects,
		     const int64_t zero[TYPE_COUNT], int64_t values[TYPE_COUNT]) {
	/* Requests for 0 bytes have a sample of their own already. */
	bool has_zero = size->usable_bytes == ZERO_REQUEST_USABLE_BYTES;
	int64_t bytes = at_least_0(size->bytes);
	int64_t part[TYPE_COUNT] = {0};
	move(&values[ALLOC_OBJECTS], &part[ALLOC_OBJECTS],
	     at_least_0(objects - (has_zero ? zero[ALLOC_OBJECTS] : 0)));
	move(&values[ALLOC_SPACE], &part[ALLOC_SPACE],
	     at_least_0(bytes - (has_zero ? zero[ALLOC_SPACE] : 0)));
	move(&values[ALLOC_REQUESTED], &part[ALLOC_REQUESTED], at_least_0(size->requested_bytes));
	move(&values[ALLOC_SAMPLES], &part[ALLOC_SAMPLES], mw_clamped(size->samples));
	mw_label_t label = size_label(b, size->usable_bytes);
	add_sample(b, part, &label, 1);
}

/* Adds a sample for each size.  The first size gets everything that the other sizes leave. */
static void add_sizes(mw_builder_t *b, const mw_state_stack_t *stack,
		      const int64_t zero[TYPE_COUNT], int64_t values[TYPE_COUNT]) {
	int64_t sum_q16 = 0, before = 0;
	for (uint32_t i = stack->sizes; i != 0; i = b->snapshot->sizes[i].next) {
		const mw_state_size_t *size = &b->snapshot->sizes[i];
		/* Rounds the running sum rather than each part, so that the parts add up to the
		 * total. */
		if (__builtin_add_overflow(sum_q16, at_least_0(size->objects_q16), &sum_q16))
			sum_q16 = INT64_MAX;
		add_size(b, size, from_q16(sum_q16) - before, zero, values);
		before = from_q16(sum_q16);
	}
	const int all[] = {ALLOC_OBJECTS, ALLOC_SPACE, ALLOC_REQUESTED, ALLOC_SAMPLES};
	int64_t part[TYPE_COUNT] = {0};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		move(&values[all[i]], &part[all[i]], values[all[i]]);
	mw_label_t label = size_label(b, stack->first_size_bytes);
	add_sample(b, part, &label, 1);
}

static void add_mapping_stack(mw_builder_t *b, uint32_t number) {
	const mw_state_stack_t *stack = &b->snapshot->stacks[number];
	int64_t values[TYPE_COUNT] = {
		[ALLOC_MAPPINGS] = from_q16(stack->alloc_objects_q16),
		[ALLOC_MAPPED] = at_least_0(stack->alloc_bytes),
		[INUSE_MAPPINGS] = from_q16(stack->live_objects_q16),
		[INUSE_MAPPED] = at_least_0(stack->live_bytes),
	};
	if (!any(values))
		return;
	mw_builder_take_stack(b, number);
	add_sample(b, values, NULL, 0);
}

static void add_stack(mw_builder_t *b, uint32_t number) {
	const mw_state_stack_t *stack = &b->snapshot->stacks[number];
	int64_t values[TYPE_COUNT] = {0}, zero[TYPE_COUNT] = {0};
	if (stack->flags & MW_STACK_MAPPING) {
		add_mapping_stack(b, number);
		return;
	}
	set_values(b, stack, values);
	if (!any(values))
		return;
	mw_builder_take_stack(b, number);
	if (b->snapshot->records != NULL) {
		add_groups(b, number, values);
		if (stack->lifetimes != 0 && stack->lifetimes < b->snapshot->life_count)
			add_lifetimes(b, &b->snapshot->lifetimes[stack->lifetimes], values);
	}
	split_zero(stack, values, zero);
	bool has_sizes = b->snapshot->records != NULL && stack->first_size_bytes != 0;
	if (has_sizes)
		add_sizes(b, stack, zero, values);
	mw_label_t labels[] = {
		{.key = mw_profile_intern(b->profile, MW_LABEL_REQUEST),
		 .unit = mw_profile_intern(b->profile, "bytes")},
		size_label(b, ZERO_REQUEST_USABLE_BYTES),
	};
	add_sample(b, values, NULL, 0);
	add_sample(b, zero, labels, has_sizes ? 2 : 1);
}

/* Returns the peak minus the sum over the stacks.  The result is 0 if the process wrote nothing
 * while its stacks were read, and if the file holds all stacks. */
static int64_t peak_gap(const mw_snapshot_t *snapshot) {
	int64_t gap = snapshot->live.peak_bytes;
	if (snapshot->live.peak_number == 0 || snapshot->stack_count == 0)
		return 0;
	for (size_t i = 0; i < snapshot->stack_count; i++)
		if (!(snapshot->stacks[i].flags & MW_STACK_MAPPING) &&
		    __builtin_sub_overflow(gap, peak_of(snapshot, &snapshot->stacks[i]), &gap))
			return 0; /* the file is damaged */
	return gap;
}

static void set_pauses(mw_profile_t *p, const mw_snapshot_t *snapshot) {
	const mw_state_live_t *live = &snapshot->live;
	uint64_t now_ns = (uint64_t)snapshot->time_ns;
	if (live->stops == 0 || live->counted_since_ns >= now_ns)
		return;
	p->origin.stops = live->stops;
	p->origin.counted_ns = (int64_t)(now_ns - live->counted_since_ns);
	p->origin.off_ns = mw_clamped(mw_state_off_ns(live, now_ns));
	/* The file is damaged, or somebody set the clock. */
	if (p->origin.off_ns > p->origin.counted_ns)
		p->origin.off_ns = p->origin.counted_ns;
}

static void set_origin(mw_profile_t *p, const mw_snapshot_t *snapshot) {
	const mw_state_header_t *header = &snapshot->header;
	const mw_state_live_t *live = &snapshot->live;
	for (size_t i = 0; i < snapshot->stack_count; i++) {
		p->origin.live_samples += snapshot->stacks[i].live_samples;
		p->origin.alloc_samples += snapshot->stacks[i].alloc_samples;
	}
	p->origin.peak_gap_bytes = peak_gap(snapshot);
	set_pauses(p, snapshot);
	uint64_t since_ns = header->created_realtime_ns;
	if (live->reset_realtime_ns > since_ns)
		since_ns = live->reset_realtime_ns;
	if (since_ns != 0 && since_ns < (uint64_t)p->time_ns)
		p->duration_ns = p->time_ns - (int64_t)since_ns;
	p->period = live->mean_bytes <= MW_STATE_MEAN_BYTES_MAX ? (int64_t)live->mean_bytes : 0;
}

/* Adds comments for values that profile.proto has no field for. formats/proto/proto_read.c reads
 * them. */
static void add_comments(mw_profile_t *p) {
	char text[256];
	snprintf(text, sizeof(text), "samples: %" PRIu64 " in use, %" PRIu64 " taken",
		 p->origin.live_samples, p->origin.alloc_samples);
	mw_profile_add_comment(p, text);
	snprintf(text, sizeof(text), "flags: 0x%x", p->origin.flags);
	mw_profile_add_comment(p, text);
	snprintf(text, sizeof(text),
		 "sampling off: %" PRIu64 " times, %" PRId64 " of %" PRId64 " ns", p->origin.stops,
		 p->origin.off_ns, p->origin.counted_ns);
	mw_profile_add_comment(p, text);
}

static bool has_mappings(const mw_snapshot_t *snapshot) {
	for (size_t i = 0; i < snapshot->stack_count; i++)
		if (snapshot->stacks[i].flags & MW_STACK_MAPPING)
			return true;
	return false;
}

mw_profile_t *mw_profile_from_snapshot(const mw_snapshot_t *snapshot) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_heap_types(p);
	mw_profile_add_state_types(p);
	if (has_mappings(snapshot))
		mw_profile_add_mapping_types(p);
	mw_builder_t b;
	mw_builder_cpu_types_t cpu = mw_builder_add_cpu_types(p, snapshot);
	mw_builder_begin(&b, p, snapshot);
	set_origin(p, snapshot);
	add_comments(p);
	const mw_resident_t resident = mw_resident_from_snapshot(snapshot);
	mw_profile_set_resident(p, &resident);
	if (snapshot->tick_count > 0)
		mw_history_from_snapshot(&p->history, snapshot);
	if (snapshot->records != NULL)
		b.groups = mw_group_records(snapshot, &b.group_count);
	for (size_t i = 0; i < snapshot->stack_count; i++)
		add_stack(&b, (uint32_t)i);
	free(b.groups);
	mw_builder_add_cpu(&b, cpu);
	mw_builder_end(&b);
	return p;
}

mw_profile_t *mw_profile_of_stacks(const mw_snapshot_t *snapshot, const mw_stack_bytes_t *stacks,
				   size_t count) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_type(p, "space", "bytes");
	mw_builder_t b;
	mw_builder_begin(&b, p, snapshot);
	for (size_t i = 0; i < count; i++) {
		int64_t value = mw_clamped(stacks[i].bytes);
		mw_builder_take_stack(&b, stacks[i].stack);
		mw_profile_add_sample(p, b.locations, b.depth, &value, NULL, 0);
	}
	mw_builder_end(&b);
	return p;
}
