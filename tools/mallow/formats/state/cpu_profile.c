/* SPDX-License-Identifier: MIT
 * cpu_profile.c -- makes a profile of the CPU samples in a snapshot. */
#include "formats/state/state_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/state/builder.h"
#include "model/memory.h"

/* Indices of the sample types. */
enum { SAMPLES, CPU_NS, TYPE_COUNT };

static int compare(const void *a, const void *b) {
	const mw_state_cpu_t *x = *(const mw_state_cpu_t *const *)a;
	const mw_state_cpu_t *y = *(const mw_state_cpu_t *const *)b;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return x->thread_id < y->thread_id ? -1 : x->thread_id > y->thread_id;
}

static void add_entry(mw_builder_t *b, const mw_state_cpu_t *entry) {
	mw_profile_t *p = b->profile;
	const int64_t values[TYPE_COUNT] = {
		[SAMPLES] = mw_clamped(entry->samples),
		[CPU_NS] = mw_clamped(entry->cpu_ns),
	};
	const mw_label_t labels[] = {
		{.key = mw_profile_intern(p, MW_LABEL_THREAD),
		 .text = mw_builder_thread_name(b, entry->thread_id)},
		{.key = mw_profile_intern(p, MW_LABEL_THREAD_ID), .number = entry->thread_id},
	};
	mw_builder_take_stack(b, entry->stack);
	mw_profile_add_sample(p, b->locations, b->depth, values, labels,
			      sizeof(labels) / sizeof(labels[0]));
}

/* Adds the entries in the order of their stacks: readers place samples that differ only in labels
 * next to each other. */
static void add_entries(mw_builder_t *b) {
	const mw_snapshot_t *snapshot = b->snapshot;
	const mw_state_cpu_t **order = mw_xcalloc(snapshot->cpu_count + 1, sizeof(*order));
	size_t count = 0;
	for (size_t i = 0; i < snapshot->cpu_count; i++)
		if (snapshot->cpu[i].samples > 0)
			order[count++] = &snapshot->cpu[i];
	qsort(order, count, sizeof(*order), compare);
	for (size_t i = 0; i < count; i++)
		add_entry(b, order[i]);
	free(order);
}

mw_profile_t *mw_profile_of_cpu(const mw_snapshot_t *snapshot) {
	const mw_state_live_t *live = &snapshot->live;
	char text[128];
	mw_profile_t *p = mw_profile_new();
	mw_builder_t b;
	mw_profile_add_type(p, "samples", "count");
	p->default_type = (uint32_t)mw_profile_add_type(p, "cpu", "nanoseconds");
	p->period_type =
		(mw_value_type_t){mw_profile_intern(p, "cpu"), mw_profile_intern(p, "nanoseconds")};
	if (live->cpu_hz > 0 && live->cpu_hz <= MW_CPU_HZ_MAX)
		p->period = 1000000000 / live->cpu_hz;
	mw_builder_begin(&b, p, snapshot);
	snprintf(text, sizeof(text),
		 "cpu samples: %" PRIu64 " taken, %" PRIu64 " of them truncated, %" PRIu64
		 " dropped",
		 live->cpu_samples, live->cpu_truncated, live->cpu_dropped);
	mw_profile_add_comment(p, text);
	add_entries(&b);
	mw_builder_end(&b);
	return p;
}
