/* SPDX-License-Identifier: MIT
 * leak_profile.c -- makes a profile of the leaked samples in a snapshot. */
#include "formats/state/state_file.h"

#include <math.h>
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

/* Returns the leaks whose samples are still in use. */
static pair_t *find_pairs(const mw_snapshot_t *s, size_t *count) {
	pair_t *pairs = mw_xcalloc(s->leak_count + 1, sizeof(*pairs));
	*count = 0;
	for (size_t i = 0; i < s->leak_count; i++) {
		const mw_state_leak_t *leak = &s->leaks[i];
		const mw_state_record_t wanted = {.reserved = leak->record};
		const mw_state_record_t *record = bsearch(&wanted, s->records, s->record_count,
							  sizeof(wanted), compare_records);
		if (record == NULL || record->sequence != leak->sequence ||
		    leak->kind >= MW_LEAK_KINDS)
			continue;
		pairs[(*count)++] = (pair_t){leak, record};
	}
	return pairs;
}

/* Keeps the leaks that the earlier check found, too.  Returns their number. */
static size_t keep_both(pair_t *pairs, size_t count, const mw_snapshot_t *earlier) {
	size_t kept = 0;
	qsort(earlier->leaks, earlier->leak_count, sizeof(mw_state_leak_t), compare_leaks);
	for (size_t i = 0; i < count; i++)
		if (is_in(earlier, pairs[i].leak))
			pairs[kept++] = pairs[i];
	return kept;
}

/* ---- estimates ----
 * The check counts all leaked blocks of each size class and kind, sampled or not. The samples of
 * a stratum say only how its blocks divide among the stacks. */

typedef struct stratum {
	uint64_t samples;
	double weight; /* sum of the samples' weights: the estimated number of blocks */
	double weight_squares;
	double weight_bytes; /* estimated bytes of the blocks */
	double blocks, bytes;
} stratum_t;

typedef struct strata {
	const mw_state_leak_check_t *check;
	stratum_t of[MW_LEAK_CLASS_CAPACITY + 1][MW_LEAK_KINDS];
} strata_t;

static double weight_of(const pair_t *pair) {
	return (double)pair->record->weight_q16 / 65536;
}

static stratum_t *stratum_of(strata_t *strata, const pair_t *pair) {
	const mw_state_leak_check_t *check = strata->check;
	uint64_t i = 0;
	while (i < check->class_count && check->classes[i].block_bytes != 0 &&
	       check->classes[i].block_bytes < pair->record->usable_bytes)
		i++;
	return &strata->of[i][pair->leak->kind];
}

static void add_strata(strata_t *strata, const pair_t *pairs, size_t count) {
	const mw_state_leak_check_t *check = strata->check;
	for (uint64_t i = 0; i < check->class_count; i++) {
		const mw_state_leak_class_t *class = &check->classes[i];
		strata->of[i][MW_LEAK_KIND_DIRECT].blocks = (double)class->direct_blocks;
		strata->of[i][MW_LEAK_KIND_DIRECT].bytes = (double)class->direct_bytes;
		strata->of[i][MW_LEAK_KIND_INDIRECT].blocks = (double)class->indirect_blocks;
		strata->of[i][MW_LEAK_KIND_INDIRECT].bytes = (double)class->indirect_bytes;
	}
	for (size_t i = 0; i < count; i++) {
		stratum_t *stratum = stratum_of(strata, &pairs[i]);
		stratum->samples++;
		double one = weight_of(&pairs[i]);
		stratum->weight += one;
		stratum->weight_squares += one * one;
		stratum->weight_bytes += one * (double)pairs[i].record->usable_bytes;
	}
}

/* Fills in the bounds of a share in 95 of 100 cases (Wilson, JASA 22, 1927), for samples without
 * replacement. */
static void bound_share(const stratum_t *s, double share, double *least, double *most) {
	double samples = (double)s->samples, z2 = 1.96 * 1.96;
	*least = *most = share;
	if (s->blocks <= samples)
		return;
	z2 *= (s->blocks - samples) / (s->blocks - 1);
	double middle = (share + z2 / (2 * samples)) / (1 + z2 / samples);
	double around = sqrt(z2 * (share * (1 - share) / samples + z2 / (4 * samples * samples))) /
			(1 + z2 / samples);
	*least = fmax(middle - around, 0);
	*most = fmin(middle + around, 1);
}

static int64_t rounded(double value) {
	return value < 0x1p62 ? llround(value) : INT64_MAX;
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

/* Values of a group's sample, and the bounds of its bytes. */
typedef struct sums {
	int64_t values[TYPE_COUNT];
	int64_t least, most;
} sums_t;

static sums_t sum_up(strata_t *strata, const pair_t *pairs, size_t count) {
	const stratum_t *stratum = stratum_of(strata, pairs);
	double weight = 0, bytes = 0, requested = 0, below = 0, least, most;
	for (size_t i = 0; i < count; i++) {
		double one = weight_of(&pairs[i]);
		weight += one;
		bytes += one * (double)pairs[i].record->usable_bytes;
		requested += one * (double)pairs[i].record->requested_bytes;
		below += one * (double)pairs[i].leak->below_bytes;
	}
	/* Without sums by size the file is damaged, and the weights stand for themselves. */
	double scale = stratum->blocks > 0 ? stratum->blocks / stratum->weight : 1;
	double share = weight / stratum->weight;
	bound_share(stratum, share, &least, &most);
	return (sums_t){.values = {[OBJECTS] = rounded(weight * scale),
				   [SPACE] = rounded(bytes * scale),
				   [REQUESTED] = rounded(requested * scale),
				   [SAMPLES] = (int64_t)count,
				   [BELOW] = rounded(below * scale)},
			.least = rounded(bytes * scale * (least / share)),
			.most = rounded(bytes * scale * (most / share))};
}

/* Adds one sample for the leaks of a group, which are ordered by time. */
static void add_group(mw_builder_t *b, strata_t *strata, const pair_t *pairs, size_t count) {
	const mw_state_record_t *first = pairs[0].record, *last = pairs[count - 1].record;
	mw_profile_t *p = b->profile;
	char peek[2 * MW_LEAK_PEEK_BYTES + 1];
	sums_t sums = sum_up(strata, pairs, count);
	mw_label_t labels[9] = {
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
		number_label(p, MW_LABEL_LEAST, sums.least, "bytes"),
		number_label(p, MW_LABEL_MOST, sums.most, "bytes"),
	};
	size_t label_count = 8;
	if (*hex_of(pairs[count - 1].leak, peek) != '\0')
		labels[label_count++] = text_label(p, MW_LABEL_PEEK, peek);
	mw_builder_take_stack(b, first->stack);
	mw_profile_add_sample(p, b->locations, b->depth, sums.values, labels, label_count);
}

mw_leak_estimate_t mw_leaks_estimate(const mw_snapshot_t *snapshot) {
	/* Of a right estimate, one in a thousand is off by more. */
	const double deviations = 3.3;
	size_t count;
	pair_t *pairs = find_pairs(snapshot, &count);
	strata_t strata = {.check = &snapshot->leak_check};
	mw_leak_estimate_t sum = {0};
	add_strata(&strata, pairs, count);
	free(pairs);
	for (uint64_t i = 0; i < snapshot->leak_check.class_count; i++) {
		const stratum_t *s = strata.of[i];
		double blocks = s[0].blocks + s[1].blocks, weight = s[0].weight + s[1].weight;
		double error = sqrt(s[0].weight_squares + s[1].weight_squares);
		bool is_more = weight - deviations * error > blocks;
		sum.is_more = sum.is_more || is_more;
		sum.blocks += is_more ? weight : blocks;
		sum.bytes +=
			is_more ? s[0].weight_bytes + s[1].weight_bytes : s[0].bytes + s[1].bytes;
		for (int kind = 0; kind < MW_LEAK_KINDS; kind++)
			sum.unsampled_bytes += s[kind].samples == 0 ? (uint64_t)s[kind].bytes : 0;
	}
	return sum;
}

static void add_types(mw_profile_t *p, const mw_snapshot_t *snapshot) {
	static const char *const names[TYPE_COUNT] = {"inuse_objects", "inuse_space",
						      "inuse_requested", "samples", "below_space"};
	for (size_t i = 0; i < TYPE_COUNT; i++)
		mw_profile_add_type(p, names[i], i == OBJECTS || i == SAMPLES ? "count" : "bytes");
	p->default_type = SPACE;
	p->period_type =
		(mw_value_type_t){mw_profile_intern(p, "space"), mw_profile_intern(p, "bytes")};
	p->period = mw_clamped(snapshot->live.mean_bytes);
}

mw_profile_t *mw_profile_of_leaks(const mw_snapshot_t *snapshot, const mw_snapshot_t *earlier) {
	size_t count, first = 0;
	pair_t *pairs = find_pairs(snapshot, &count);
	strata_t strata = {.check = &snapshot->leak_check};
	mw_profile_t *p = mw_profile_new();
	add_strata(&strata, pairs, count);
	if (earlier != NULL)
		count = keep_both(pairs, count, earlier);
	qsort(pairs, count, sizeof(*pairs), compare_pairs);
	mw_builder_t b;
	add_types(p, snapshot);
	mw_builder_begin(&b, p, snapshot);
	mw_profile_add_comment(p, "leaks: blocks that no pointer leads to");
	for (size_t i = 1; i <= count; i++)
		if (i == count || compare_groups(&pairs[first], &pairs[i]) != 0) {
			add_group(&b, &strata, &pairs[first], i - first);
			first = i;
		}
	mw_builder_end(&b);
	free(pairs);
	return p;
}
