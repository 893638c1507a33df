/* SPDX-License-Identifier: MIT
 * held_profile.c -- makes a profile of sampled blocks and of who holds them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/state/builder.h"
#include "formats/state/state_file.h"
#include "model/memory.h"
#include "model/merge.h"

enum { OBJECTS, SPACE, SAMPLES, TYPE_COUNT };

static int compare_records(const void *left, const void *right) {
	uint64_t a = ((const mw_state_record_t *)left)->reserved;
	uint64_t b = ((const mw_state_record_t *)right)->reserved;
	return a < b ? -1 : a > b;
}

/* Returns the record if its block was not freed since; NULL: it was. */
static const mw_state_record_t *find_record(const mw_snapshot_t *s, uint32_t number,
					    uint32_t sequence) {
	const mw_state_record_t wanted = {.reserved = number};
	const mw_state_record_t *record = number == 0
						  ? NULL
						  : bsearch(&wanted, s->records, s->record_count,
							    sizeof(wanted), compare_records);
	return record != NULL && record->sequence == sequence ? record : NULL;
}

/* Names of threads that hold blocks by their stacks and registers, each a location. */
typedef struct thread_root {
	uint32_t thread, root, location;
} thread_root_t;

typedef struct held {
	mw_builder_t builder;
	thread_root_t *threads;
	size_t thread_count, thread_capacity;
	uint32_t *frames; /* of the current sample */
	size_t frame_capacity;
} held_t;

static uint32_t thread_location(held_t *held, const mw_state_holder_t *holder) {
	for (size_t i = 0; i < held->thread_count; i++)
		if (held->threads[i].thread == holder->thread &&
		    held->threads[i].root == holder->root)
			return held->threads[i].location;
	mw_builder_t *b = &held->builder;
	char name[96];
	const char *thread =
		mw_profile_string(b->profile, mw_builder_thread_name(b, holder->thread));
	snprintf(name, sizeof(name), "[%s of %s (%" PRIu32 ")]",
		 holder->root == MW_LEAK_ROOT_STACK ? "stack" : "registers", thread,
		 holder->thread);
	held->threads = mw_grow(held->threads, &held->thread_capacity, held->thread_count + 1,
				sizeof(*held->threads));
	thread_root_t *added = &held->threads[held->thread_count++];
	*added = (thread_root_t){holder->thread, holder->root, mw_builder_named_location(b, name)};
	return added->location;
}

static uint32_t root_location(held_t *held, const mw_state_holder_t *holder) {
	if (holder->root != MW_LEAK_ROOT_DATA)
		return thread_location(held, holder);
	return mw_builder_data_location(&held->builder, holder->address);
}

static void add_held(held_t *held, const mw_state_leak_t *leak, const mw_state_record_t *record) {
	static const char *const kinds[MW_LEAK_ROOTS] = {"data", "stack", "registers"};
	mw_builder_t *b = &held->builder;
	mw_profile_t *p = b->profile;
	const mw_state_holder_t *holder = &leak->holder;
	const mw_state_record_t *through =
		find_record(b->snapshot, holder->record, holder->sequence);
	uint32_t leaf = 0;
	if (through != NULL) {
		mw_builder_take_stack(b, through->stack);
		leaf = b->locations[0];
	}
	mw_builder_take_stack(b, record->stack);
	held->frames =
		mw_grow(held->frames, &held->frame_capacity, b->depth + 2, sizeof(*held->frames));
	size_t depth = b->depth;
	memcpy(held->frames, b->locations, depth * sizeof(*held->frames));
	if (leaf != 0)
		held->frames[depth++] = leaf;
	held->frames[depth++] = root_location(held, holder);
	const mw_label_t labels[] = {
		{.key = mw_profile_intern(p, MW_LABEL_HELD),
		 .text = mw_profile_intern(p,
					   kinds[holder->root < MW_LEAK_ROOTS ? holder->root : 0])},
		{.key = mw_profile_intern(p, MW_LABEL_THROUGH), .number = leaf != 0},
	};
	const int64_t values[TYPE_COUNT] = {
		[OBJECTS] = (int64_t)((record->weight_q16 + 32768) >> 16),
		[SPACE] = mw_record_weigh(record, record->usable_bytes),
		[SAMPLES] = 1,
	};
	mw_profile_add_sample(p, held->frames, depth, values, labels, 2);
}

mw_profile_t *mw_profile_of_held(const mw_snapshot_t *snapshot) {
	static const char *const names[TYPE_COUNT] = {"inuse_objects", "inuse_space", "samples"};
	mw_profile_t *p = mw_profile_new();
	held_t held = {.threads = NULL};
	for (size_t i = 0; i < TYPE_COUNT; i++)
		mw_profile_add_type(p, names[i], i == SPACE ? "bytes" : "count");
	p->default_type = SPACE;
	p->period_type =
		(mw_value_type_t){mw_profile_intern(p, "space"), mw_profile_intern(p, "bytes")};
	p->period = mw_clamped(snapshot->live.mean_bytes);
	mw_builder_begin(&held.builder, p, snapshot);
	mw_profile_add_comment(p, "held: blocks that pointers lead to, and where these are");
	for (size_t i = 0; i < snapshot->leak_count; i++) {
		const mw_state_leak_t *leak = &snapshot->leaks[i];
		const mw_state_record_t *record =
			find_record(snapshot, leak->record, leak->sequence);
		if (leak->kind == MW_LEAK_KIND_HELD && record != NULL)
			add_held(&held, leak, record);
	}
	mw_builder_end(&held.builder);
	mw_profile_combine(p);
	free(held.threads);
	free(held.frames);
	return p;
}
