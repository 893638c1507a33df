/* SPDX-License-Identifier: MIT
 * leak_profile.c -- makes a profile of the leaked samples in a snapshot. */
#include "formats/state/state_file.h"

#include <stdio.h>
#include <stdlib.h>

#include "formats/state/builder.h"
#include "model/memory.h"

enum { OBJECTS, SPACE, REQUESTED, SAMPLES, BELOW, TYPE_COUNT };

/* A leak and its record. */
typedef struct pair {
	const mw_state_leak_t *leak;
	const mw_state_record_t *record;
} pair_t;

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int compare_leaks(const void *left, const void *right) {
	const mw_state_leak_t *a = left, *b = right;
	int order = COMPARE(a->record, b->record);
	return order ? order : COMPARE(a->sequence, b->sequence);
}

static int compare_records(const void *left, const void *right) {
	const mw_state_record_t *a = left, *b = right;
	return COMPARE(a->reserved, b->reserved);
}

/* Orders leaks by what one sample of the profile has in common, then by time. */
static int compare_groups(const pair_t *a, const pair_t *b) {
	int order = COMPARE(a->record->stack, b->record->stack);
	if (order == 0)
		order = COMPARE(a->leak->kind, b->leak->kind);
	if (order == 0)
		order = COMPARE(a->record->thread_id, b->record->thread_id);
	return order ? order : COMPARE(a->record->usable_bytes, b->record->usable_bytes);
}

static int compare_pairs(const void *left, const void *right) {
	const pair_t *a = left, *b = right;
	int order = compare_groups(a, b);
	return order ? order : COMPARE(a->record->time_ns, b->record->time_ns);
}

static bool is_in(const mw_snapshot_t *earlier, const mw_state_leak_t *leak) {
	return bsearch(leak, earlier->leaks, earlier->leak_count, sizeof(*leak), compare_leaks) !=
	       NULL;
}

/* Returns the leaks whose samples are still in use, in the order of the profile. */
static pair_t *find_pairs(const mw_snapshot_t *s, const mw_snapshot_t *earlier, size_t *count) {
	pair_t *pairs = mw_xcalloc(s->leak_count + 1, sizeof(*pairs));
	*count = 0;
	if (earlier != NULL)
		qsort(earlier->leaks, earlier->leak_count, sizeof(mw_state_leak_t), compare_leaks);
	for (size_t i = 0; i < s->leak_count; i++) {
		const mw_state_leak_t *leak = &s->leaks[i];
		const mw_state_record_t wanted = {.reserved = leak->record};
		const mw_state_record_t *record = bsearch(&wanted, s->records, s->record_count,
							  sizeof(wanted), compare_records);
		if (record == NULL || record->sequence != leak->sequence ||
		    leak->kind >= MW_LEAK_KINDS || (earlier != NULL && !is_in(earlier, leak)))
			continue;
		pairs[(*count)++] = (pair_t){leak, record};
	}
	qsort(pairs, *count, sizeof(*pairs), compare_pairs);
	return pairs;
}

static void add(int64_t *sum, int64_t value) {
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = INT64_MAX;
}

static mw_label_t number_label(mw_profile_t *p, const char *key, int64_t number, const char *unit) {
	return (mw_label_t){.key = mw_profile_intern(p, key),
			    .number = number,
			    .unit = mw_profile_intern(p, unit)};
}

static mw_label_t text_label(mw_profile_t *p, const char *key, const char *text) {
	return (mw_label_t){.key = mw_profile_intern(p, key), .text = mw_profile_intern(p, text)};
}

static const char *hex_of(const mw_state_leak_t *leak, char text[2 * MW_LEAK_PEEK_BYTES + 1]) {
	size_t bytes =
		leak->peek_bytes < MW_LEAK_PEEK_BYTES ? leak->peek_bytes : MW_LEAK_PEEK_BYTES;
	text[0] = '\0';
	for (size_t i = 0; i < bytes; i++)
		snprintf(text + 2 * i, 3, "%02x", leak->peek[i]);
	return text;
}

/* Adds one sample for the leaks of a group, which are ordered by time. */
static void add_group(mw_builder_t *b, const pair_t *pairs, size_t count) {
	const mw_state_record_t *first = pairs[0].record, *last = pairs[count - 1].record;
	mw_profile_t *p = b->profile;
	uint64_t objects_q16 = 0;
	int64_t values[TYPE_COUNT] = {[SAMPLES] = (int64_t)count};
	char peek[2 * MW_LEAK_PEEK_BYTES + 1];
	for (size_t i = 0; i < count; i++) {
		const mw_state_record_t *record = pairs[i].record;
		if (__builtin_add_overflow(objects_q16, record->weight_q16, &objects_q16))
			objects_q16 = UINT64_MAX - 32768;
		add(&values[SPACE], mw_record_weigh(record, record->usable_bytes));
		add(&values[REQUESTED], mw_record_weigh(record, record->requested_bytes));
		add(&values[BELOW], mw_record_weigh(record, pairs[i].leak->below_bytes));
	}
	values[OBJECTS] = (int64_t)(objects_q16 / 65536 + (objects_q16 % 65536 >= 32768));
	mw_label_t labels[7] = {
		number_label(p, MW_LABEL_SIZE, mw_clamped(first->usable_bytes), "bytes"),
		{.key = mw_profile_intern(p, MW_LABEL_THREAD),
		 .text = mw_builder_thread_name(b, first->thread_id)},
		{.key = mw_profile_intern(p, MW_LABEL_THREAD_ID), .number = first->thread_id},
		text_label(p, MW_LABEL_LEAK,
			   pairs[0].leak->kind == MW_LEAK_KIND_DIRECT ? "direct" : "indirect"),
		number_label(p, MW_LABEL_OLDEST, mw_snapshot_made_ns(b->snapshot, first),
			     "nanoseconds"),
		number_label(p, MW_LABEL_NEWEST, mw_snapshot_made_ns(b->snapshot, last),
			     "nanoseconds"),
	};
	size_t label_count = 6;
	if (*hex_of(pairs[count - 1].leak, peek) != '\0')
		labels[label_count++] = text_label(p, MW_LABEL_PEEK, peek);
	mw_builder_take_stack(b, first->stack);
	mw_profile_add_sample(p, b->locations, b->depth, values, labels, label_count);
}

static void add_types(mw_profile_t *p, const mw_snapshot_t *snapshot) {
	static const char *const names[TYPE_COUNT] = {
		"inuse_objects", "inuse_space", "inuse_requested", "inuse_samples", "below_space"};
	for (size_t i = 0; i < TYPE_COUNT; i++)
		mw_profile_add_type(p, names[i], i == OBJECTS || i == SAMPLES ? "count" : "bytes");
	p->default_type = SPACE;
	p->period_type =
		(mw_value_type_t){mw_profile_intern(p, "space"), mw_profile_intern(p, "bytes")};
	p->period = mw_clamped(snapshot->live.mean_bytes);
}

mw_profile_t *mw_profile_of_leaks(const mw_snapshot_t *snapshot, const mw_snapshot_t *earlier) {
	size_t count, first = 0;
	pair_t *pairs = find_pairs(snapshot, earlier, &count);
	mw_profile_t *p = mw_profile_new();
	mw_builder_t b;
	add_types(p, snapshot);
	mw_builder_begin(&b, p, snapshot);
	mw_profile_add_comment(p, "leaks: blocks that no pointer leads to");
	for (size_t i = 1; i <= count; i++)
		if (i == count || compare_groups(&pairs[first], &pairs[i]) != 0) {
			add_group(&b, &pairs[first], i - first);
			first = i;
		}
	mw_builder_end(&b);
	free(pairs);
	return p;
}
