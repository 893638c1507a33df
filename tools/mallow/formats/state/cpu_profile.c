/* SPDX-License-Identifier: MIT
 * cpu_profile.c -- makes a profile of the CPU samples in a snapshot. */
#include "formats/state/state_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/state/builder.h"
#include "model/memory.h"

/* More than a state file's profile has. */
#define TYPES_MAX 32

/* The state of an event's samples, as a constant. */
#define STATE_OF(event) (MW_CPU_FIRST_EVENT + (event)-MW_CPU_CYCLES)

/* A type without time is left out: readers of other makers know profiles of CPU time with two
 * types. */
mw_builder_cpu_types_t mw_builder_add_cpu_types(mw_profile_t *p, const mw_snapshot_t *snapshot) {
	static const char *const names[MW_CPU_STATES][2] = {
		[MW_CPU_USED] = {"cpu", "nanoseconds"},
		[MW_CPU_RUNNING] = {"wall", "nanoseconds"},
		[MW_CPU_WAITING] = {"wall", "nanoseconds"},
#define EVENT(name, text, unit) [STATE_OF(MW_CPU_##name)] = {text, unit},
		MW_CPU_COUNTED_LIST(EVENT)
#undef EVENT
	};
	mw_builder_cpu_types_t types = {.first = -1};
	bool has[MW_CPU_STATES] = {false};
	for (size_t i = 0; i < snapshot->cpu_count; i++)
		has[snapshot->cpu[i].state] |= snapshot->cpu[i].samples > 0;
	has[MW_CPU_RUNNING] |= has[MW_CPU_WAITING];
	for (int i = 0; i < MW_CPU_STATES; i++) {
		types.of[i] = i == MW_CPU_WAITING ? types.of[MW_CPU_RUNNING] : -1;
		if (has[i] && types.of[i] < 0)
			types.of[i] = (int)mw_profile_add_type(p, names[i][0], names[i][1]);
		if (types.first < 0)
			types.first = types.of[i];
	}
	return types;
}

static int compare(const void *a, const void *b) {
	const mw_state_cpu_t *x = *(const mw_state_cpu_t *const *)a;
	const mw_state_cpu_t *y = *(const mw_state_cpu_t *const *)b;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	if (x->thread_id != y->thread_id)
		return x->thread_id < y->thread_id ? -1 : 1;
	if (x->state != y->state)
		return x->state < y->state ? -1 : 1;
	return x->processor < y->processor ? -1 : x->processor > y->processor;
}

static void add_entry(mw_builder_t *b, const mw_state_cpu_t *entry, mw_builder_cpu_types_t types) {
	mw_profile_t *p = b->profile;
	bool is_wall = entry->state == MW_CPU_RUNNING || entry->state == MW_CPU_WAITING;
	int type = types.of[entry->state];
	int64_t values[TYPES_MAX] = {0};
	/* No type: the sums and the entries were read at different moments. */
	if (type < 0 || p->type_count > TYPES_MAX)
		return;
	if (strcmp(mw_profile_string(p, p->types[0].type), "samples") == 0)
		values[0] = mw_clamped(entry->samples);
	values[type] = mw_clamped(entry->time_ns);
	const mw_label_t labels[] = {
		{.key = mw_profile_intern(p, MW_LABEL_THREAD),
		 .text = mw_builder_thread_name(b, entry->thread_id)},
		{.key = mw_profile_intern(p, MW_LABEL_THREAD_ID), .number = entry->thread_id},
		{.key = mw_profile_intern(p, MW_LABEL_PROCESSOR), .number = entry->processor},
		{.key = mw_profile_intern(p, MW_LABEL_STATE),
		 .text = mw_profile_intern(p,
					   entry->state == MW_CPU_WAITING ? "waiting" : "running")},
	};
	mw_builder_take_stack(b, entry->stack);
	/* Only wall-clock time has a state. */
	mw_profile_add_sample(p, b->locations, b->depth, values, labels,
			      sizeof(labels) / sizeof(labels[0]) - !is_wall);
}

/* Adds the entries in the order of their stacks: readers place samples that differ only in labels
 * next to each other. */
void mw_builder_add_cpu(mw_builder_t *b, mw_builder_cpu_types_t types) {
	const mw_snapshot_t *snapshot = b->snapshot;
	const mw_state_cpu_t **order = mw_xcalloc(snapshot->cpu_count + 1, sizeof(*order));
	size_t count = 0;
	for (size_t i = 0; i < snapshot->cpu_count; i++)
		if (snapshot->cpu[i].samples > 0)
			order[count++] = &snapshot->cpu[i];
	qsort(order, count, sizeof(*order), compare);
	for (size_t i = 0; i < count; i++)
		add_entry(b, order[i], types);
	free(order);
}

mw_profile_t *mw_profile_of_cpu(const mw_snapshot_t *snapshot) {
	const mw_state_live_t *live = &snapshot->live;
	char text[128];
	mw_profile_t *p = mw_profile_new();
	mw_builder_t b;
	mw_profile_add_type(p, "samples", "count");
	mw_builder_cpu_types_t types = mw_builder_add_cpu_types(p, snapshot);
	if (types.first < 0)
		types.first = (int)mw_profile_add_type(p, "cpu", "nanoseconds");
	p->default_type = (uint32_t)types.first;
	p->period_type = p->types[p->default_type];
	uint32_t hz = mw_cpu_hz(live->cpu_hz);
	bool is_time = mw_cpu_state_of_event(mw_cpu_event(live->cpu_hz)) < MW_CPU_FIRST_EVENT;
	if (is_time && hz > 0 && hz <= MW_CPU_HZ_MAX)
		p->period = 1000000000 / hz;
	mw_builder_begin(&b, p, snapshot);
	snprintf(text, sizeof(text),
		 "cpu samples: %" PRIu64 " taken, %" PRIu64 " of them truncated, %" PRIu64
		 " dropped",
		 live->cpu_samples, live->cpu_truncated, live->cpu_dropped);
	mw_profile_add_comment(p, text);
	mw_builder_add_cpu(&b, types);
	mw_builder_end(&b);
	return p;
}
