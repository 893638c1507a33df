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

/* A type without time is left out: readers of other makers know profiles of CPU time with two
 * types. */
mw_builder_cpu_types_t mw_builder_add_cpu_types(mw_profile_t *p, const mw_snapshot_t *snapshot) {
	mw_builder_cpu_types_t types = {-1, -1};
	if (snapshot->cpu_count == 0)
		return types;
	if (snapshot->live.cpu_ns > 0)
		types.cpu = (int)mw_profile_add_type(p, "cpu", "nanoseconds");
	if (snapshot->live.wall_ns > 0)
		types.wall = (int)mw_profile_add_type(p, "wall", "nanoseconds");
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
	bool is_wall = entry->state != MW_CPU_USED;
	int type = is_wall ? types.wall : types.cpu;
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
	/* CPU time has no state. */
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
	if (types.cpu < 0 && types.wall < 0)
		types.cpu = (int)mw_profile_add_type(p, "cpu", "nanoseconds");
	p->default_type = (uint32_t)(types.cpu >= 0 ? types.cpu : types.wall);
	p->period_type = p->types[p->default_type];
	uint32_t hz = live->cpu_hz & ~MW_CPU_WALL;
	if (hz > 0 && hz <= MW_CPU_HZ_MAX)
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
