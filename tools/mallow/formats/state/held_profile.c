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
#include "model/table.h"

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

/* Holders that are no variables, each a location with a name. */
typedef struct named_root {
	mw_leak_root_t root;
	uint32_t location;
	uint64_t number; /* of a thread; MW_LEAK_ROOT_DATA: start of a mapping */
} named_root_t;

typedef struct held {
	mw_builder_t builder;
	mw_table_t table; /* to index in `named` + 1 */
	named_root_t *named;
	size_t named_count, named_capacity;
	uint32_t *frames; /* of the current sample */
	size_t frame_capacity;
} held_t;

static const char *const root_kinds[MW_LEAK_ROOTS] = {"data", "stack", "registers", "thread-local"};
static const char *const root_nouns[MW_LEAK_ROOTS] = {"data", "stack", "registers",
						      "thread-local data"};

static mw_leak_root_t kind_of(const mw_state_holder_t *holder) {
	return holder->root < MW_LEAK_ROOTS ? (mw_leak_root_t)holder->root : MW_LEAK_ROOT_DATA;
}

static uint32_t add_named(held_t *held, mw_leak_root_t root, uint64_t number) {
	mw_builder_t *b = &held->builder;
	char name[96];
	if (root == MW_LEAK_ROOT_DATA)
		snprintf(name, sizeof(name), "[mapping at 0x%" PRIx64 "]", number);
	else
		snprintf(name, sizeof(name), "[%s of %s (%" PRIu64 ")]", root_nouns[root],
			 mw_profile_string(b->profile, mw_builder_thread_name(b, (uint32_t)number)),
			 number);
	held->named = mw_grow(held->named, &held->named_capacity, held->named_count + 1,
			      sizeof(*held->named));
	held->named[held->named_count++] =
		(named_root_t){root, mw_builder_named_location(b, name), number};
	return (uint32_t)held->named_count;
}

static bool named_equal(const void *context, uint32_t entry, const void *key) {
	const named_root_t *named = &((const held_t *)context)->named[entry - 1];
	const uint64_t *wanted = key;
	return named->root == wanted[0] && named->number == wanted[1];
}

static uint32_t root_location(held_t *held, const mw_state_holder_t *holder) {
	const mw_leak_root_t root = kind_of(holder);
	bool is_data = root == MW_LEAK_ROOT_DATA;
	if (is_data && holder->mapping == 0)
		return mw_builder_data_location(&held->builder, holder->address);
	const uint64_t key[2] = {root, is_data ? holder->mapping : holder->thread};
	uint64_t hash = mw_table_hash(key, sizeof(key));
	uint32_t entry = mw_table_find(&held->table, hash, named_equal, held, key);
	if (entry == 0) {
		entry = add_named(held, root, key[1]);
		mw_table_add(&held->table, hash, entry);
	}
	return held->named[entry - 1].location;
}

/* Copies the frames of a stack behind the first `at`; there is room for one more. */
static size_t take_frames(held_t *held, size_t at, uint32_t stack) {
	mw_builder_t *b = &held->builder;
	mw_builder_take_stack(b, stack);
	held->frames = mw_grow(held->frames, &held->frame_capacity, at + b->depth + 1,
			       sizeof(*held->frames));
	memcpy(held->frames + at, b->locations, b->depth * sizeof(*held->frames));
	return b->depth;
}

static void add_held(held_t *held, const mw_state_leak_t *leak, const mw_state_record_t *record) {
	mw_builder_t *b = &held->builder;
	mw_profile_t *p = b->profile;
	const mw_state_holder_t *holder = &leak->holder;
	const mw_state_record_t *through =
		find_record(b->snapshot, holder->record, holder->sequence);
	size_t depth = take_frames(held, 0, record->stack), through_depth = 0;
	if (through != NULL) {
		through_depth = take_frames(held, depth, through->stack);
		depth += through_depth;
	}
	held->frames[depth++] = root_location(held, holder);
	const mw_label_t labels[] = {
		{.key = mw_profile_intern(p, MW_LABEL_HELD),
		 .text = mw_profile_intern(p, root_kinds[kind_of(holder)])},
		{.key = mw_profile_intern(p, MW_LABEL_THROUGH), .number = (int64_t)through_depth},
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
	held_t held = {.named = NULL};
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
	mw_table_clear(&held.table);
	free(held.named);
	free(held.frames);
	return p;
}
