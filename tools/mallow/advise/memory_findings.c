/* SPDX-License-Identifier: MIT
 * memory_findings.c -- findings about memory that is held: free memory between blocks, what only
 * grows, what was never touched, sizes, equal contents. */
#include <stdio.h>
#include <stdlib.h>

#include "advise/detect.h"
#include "model/memory.h"

static int64_t part_of(int64_t bytes, int64_t part, int64_t whole) {
	return whole > 0 ? (int64_t)((double)bytes * ((double)part / (double)whole)) : 0;
}

/* Free memory that the walk found beside that of `named_bytes`: few of the blocks between which it
 * lies are sampled. */
static void add_unnamed_fragmentation(const mw_facts_t *facts, int64_t named_bytes,
				      mw_findings_t *findings) {
	const mw_fact_function_t *first = NULL;
	int64_t bytes = facts->free_between_bytes - named_bytes;
	if (bytes < MW_FINDING_BYTES_MIN || bytes < facts->free_between_bytes / 2 ||
	    facts->free_between_bytes < facts->used_bytes)
		return;
	for (size_t i = 0; i < facts->function_count; i++)
		if (facts->functions[i].pinned_bytes > 0 &&
		    (first == NULL || facts->functions[i].pinned_bytes > first->pinned_bytes))
			first = &facts->functions[i];
	mw_finding_add(findings,
		       &(mw_finding_t){.kind = MW_FINDING_fragmentation,
				       .share = mw_fact_share(bytes, mw_fact_memory(facts)),
				       .bytes = bytes},
		       "%s of free memory stays resident between blocks in use, %s; few of these "
		       "blocks are sampled%s%s",
		       mw_say_bytes(bytes), mw_say_bytes(facts->used_bytes),
		       first != NULL ? ", most of them allocated by " : "",
		       first != NULL ? first->name : "");
}

void mw_detect_fragmentation(const mw_facts_t *facts, mw_findings_t *findings) {
	int64_t named_bytes = 0;
	for (size_t i = 0; i < facts->function_count; i++) {
		const mw_fact_function_t *f = &facts->functions[i];
		/* Where less is free than in use, the pages are in use for the most part. */
		if (f->pinned_bytes < MW_FINDING_BYTES_MIN || f->pinned_bytes < f->live_bytes ||
		    !mw_fact_is_certain(f->live_samples, f->live_objects))
			continue;
		mw_finding_add(findings,
			       &(mw_finding_t){.kind = MW_FINDING_fragmentation,
					       .function = f->name,
					       .share = mw_fact_share(f->pinned_bytes,
								      mw_fact_memory(facts)),
					       .bytes = f->pinned_bytes,
					       .objects = f->live_objects},
			       "%s keeps %s of free memory resident: its %s blocks in use, %s, lie "
			       "between free ones of their size",
			       f->name, mw_say_bytes(f->pinned_bytes),
			       mw_say_count(f->live_objects), mw_say_bytes(f->live_bytes));
		named_bytes += f->pinned_bytes;
	}
	add_unnamed_fragmentation(facts, named_bytes, findings);
}

/* ---- What only grows ---- */

enum { QUARTERS = 4, SAMPLES_MIN = 16 };
#define GROWTH_NS_MIN ((int64_t)3000000000)

typedef struct ages {
	int64_t bytes[QUARTERS], samples;
} ages_t;

static ages_t *sum_ages(const mw_facts_t *facts) {
	ages_t *ages = mw_xcalloc(facts->function_count, sizeof(*ages));
	int64_t span_ns = facts->time_ns - facts->began_ns;
	for (size_t i = 0; i < facts->block_count; i++) {
		const mw_fact_block_t *block = &facts->blocks[i];
		if (block->made_ns < facts->began_ns || block->made_ns == 0)
			continue;
		int64_t at_ns = block->made_ns - facts->began_ns;
		int64_t quarter = at_ns < span_ns
					  ? (int64_t)((double)at_ns * QUARTERS / (double)span_ns)
					  : QUARTERS - 1;
		ages[block->function].bytes[quarter < QUARTERS ? quarter : QUARTERS - 1] +=
			block->bytes;
		ages[block->function].samples += block->samples;
	}
	return ages;
}

static bool frees_hardly_any(const mw_fact_function_t *f) {
	return 50 * f->freed_objects <= f->alloc_objects;
}

/* Returns whether memory in use grew by most of what was allocated in the second and third quarter
 * and is in use.  If not, that took the place of older blocks. */
static bool all_grew(const mw_facts_t *facts, const ages_t *ages) {
	int64_t bytes = 0;
	for (size_t i = 0; i < facts->function_count; i++)
		bytes += ages[i].bytes[1] + ages[i].bytes[2];
	return facts->grown_bytes > 0 && 10 * facts->grown_bytes >= 7 * bytes;
}

/* Hardly anything was freed, or the whole process grew; and each quarter of the time added at least
 * a tenth. */
static bool only_grows(const mw_fact_function_t *f, const ages_t *ages, bool all_grew) {
	if (ages->samples < SAMPLES_MIN || f->live_bytes < MW_FINDING_BYTES_MIN ||
	    (!frees_hardly_any(f) && !all_grew))
		return false;
	for (size_t k = 0; k < QUARTERS; k++)
		if (10 * ages->bytes[k] < f->live_bytes)
			return false;
	return true;
}

void mw_detect_only_grows(const mw_facts_t *facts, mw_findings_t *findings) {
	int64_t span_ns = facts->time_ns - facts->began_ns;
	if (facts->began_ns == 0 || span_ns < GROWTH_NS_MIN)
		return;
	ages_t *ages = sum_ages(facts);
	bool grew = all_grew(facts, ages);
	for (size_t i = 0; i < facts->function_count; i++) {
		const mw_fact_function_t *f = &facts->functions[i];
		if (!only_grows(f, &ages[i], grew))
			continue;
		char frees[64];
		if (frees_hardly_any(f))
			snprintf(frees, sizeof(frees), "frees hardly any (%s of %s)",
				 mw_say_count(f->freed_objects), mw_say_count(f->alloc_objects));
		else
			snprintf(frees, sizeof(frees), "keeps %s of %s",
				 mw_say_count(f->live_objects), mw_say_count(f->alloc_objects));
		mw_finding_add(
			findings,
			&(mw_finding_t){.kind = MW_FINDING_only_grows,
					.function = f->name,
					.share =
						mw_fact_share(f->live_bytes, mw_fact_memory(facts)),
					.bytes = f->live_bytes,
					.objects = f->live_objects},
			"%s holds %s in %s blocks and %s; the last %s added %s: bound it, or free "
			"what is no longer used",
			f->name, mw_say_bytes(f->live_bytes), mw_say_count(f->live_objects), frees,
			mw_say_time(span_ns / QUARTERS), mw_say_bytes(ages[i].bytes[QUARTERS - 1]));
	}
	free(ages);
}

/* ---- Never touched ---- */

/* A younger block may still be filled. */
#define FILLED_NS ((int64_t)1000000000)

typedef struct untouched {
	int64_t bytes, all_bytes, objects;
} untouched_t;

void mw_detect_untouched(const mw_facts_t *facts, mw_findings_t *findings) {
	untouched_t *sums = mw_xcalloc(facts->function_count, sizeof(*sums));
	for (size_t i = 0; i < facts->block_count; i++) {
		const mw_fact_block_t *block = &facts->blocks[i];
		if (block->untouched_bytes < 0 || facts->time_ns - block->made_ns < FILLED_NS)
			continue;
		untouched_t *sum = &sums[block->function];
		sum->bytes += part_of(block->bytes, block->untouched_bytes, block->usable_bytes);
		sum->all_bytes += block->bytes;
		sum->objects += block->objects;
	}
	for (size_t i = 0; i < facts->function_count; i++) {
		const untouched_t *sum = &sums[i];
		char *name = facts->functions[i].name;
		if (sum->bytes < MW_FINDING_BYTES_MIN || 2 * sum->bytes < sum->all_bytes)
			continue;
		mw_finding_add(
			findings,
			&(mw_finding_t){.kind = MW_FINDING_untouched,
					.function = name,
					.share = mw_fact_share(sum->bytes, facts->live_bytes),
					.bytes = sum->bytes,
					.objects = sum->objects},
			"%s allocated %s that were never touched, of %s in %s blocks: they take "
			"address space, not memory; smaller blocks would do",
			name, mw_say_bytes(sum->bytes), mw_say_bytes(sum->all_bytes),
			mw_say_count(sum->objects));
	}
	free(sums);
}

/* ---- Sizes just above a class ---- */

/* Returns the largest size of blocks below that of `usable_bytes`, by the steps of the library:
 * 16 bytes up to 128, then four steps a doubling.  0: the size is none of these. */
static int64_t size_below(int64_t usable_bytes) {
	if (usable_bytes <= 16 || usable_bytes > 65536 || usable_bytes % 16 != 0)
		return 0;
	if (usable_bytes <= 128)
		return usable_bytes - 16;
	int64_t step = (int64_t)1 << (63 - __builtin_clzll((uint64_t)usable_bytes - 1)) >> 2;
	return usable_bytes % step == 0 ? usable_bytes - step : 0;
}

static int compare_requests(const void *left, const void *right) {
	const mw_fact_block_t *a = *(const mw_fact_block_t *const *)left;
	const mw_fact_block_t *b = *(const mw_fact_block_t *const *)right;
	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (a->usable_bytes != b->usable_bytes)
		return a->usable_bytes < b->usable_bytes ? -1 : 1;
	return (a->requested_bytes > b->requested_bytes) -
	       (a->requested_bytes < b->requested_bytes);
}

/* Says how much smaller blocks would be if each request were a few bytes shorter.  Only where most
 * of a function's memory is in blocks of one request, so that its size is no accident. */
static void advise_size(const mw_facts_t *facts, const mw_fact_block_t *one, int64_t bytes,
			int64_t objects, mw_findings_t *findings) {
	const mw_fact_function_t *f = &facts->functions[one->function];
	int64_t below = size_below(one->usable_bytes);
	int64_t excess = one->requested_bytes - below;
	int64_t gain = part_of(bytes, one->usable_bytes - below, one->usable_bytes);
	if (below == 0 || excess <= 0 || 4 * excess > one->usable_bytes - below ||
	    gain < MW_FINDING_BYTES_MIN || 2 * bytes < f->live_bytes ||
	    !mw_fact_is_certain(f->live_samples, f->live_objects))
		return;
	mw_finding_add(
		findings,
		&(mw_finding_t){.kind = MW_FINDING_sizes,
				.function = f->name,
				.share = mw_fact_share(gain, facts->live_bytes),
				.bytes = gain,
				.objects = objects},
		"%s holds %s blocks of %lld bytes, which take %lld each: %lld bytes less would "
		"make them %lld, and save %s",
		f->name, mw_say_count(objects), (long long)one->requested_bytes,
		(long long)one->usable_bytes, (long long)excess, (long long)below,
		mw_say_bytes(gain));
}

void mw_detect_sizes(const mw_facts_t *facts, mw_findings_t *findings) {
	const mw_fact_block_t **order = mw_xcalloc(facts->block_count, sizeof(*order));
	for (size_t i = 0; i < facts->block_count; i++)
		order[i] = &facts->blocks[i];
	if (facts->block_count > 1)
		qsort(order, facts->block_count, sizeof(*order), compare_requests);
	for (size_t i = 0, end; i < facts->block_count; i = end) {
		int64_t bytes = 0, objects = 0;
		for (end = i;
		     end < facts->block_count && compare_requests(&order[i], &order[end]) == 0;
		     end++) {
			bytes += order[end]->bytes;
			objects += order[end]->objects;
		}
		advise_size(facts, order[i], bytes, objects, findings);
	}
	free(order);
}

/* ---- Equal contents ---- */

static int compare_contents(const void *left, const void *right) {
	const mw_fact_block_t *a = *(const mw_fact_block_t *const *)left;
	const mw_fact_block_t *b = *(const mw_fact_block_t *const *)right;
	if (a->requested_bytes != b->requested_bytes)
		return a->requested_bytes < b->requested_bytes ? -1 : 1;
	return (a->content > b->content) - (a->content < b->content);
}

typedef struct duplicates {
	int64_t bytes, blocks, contents;
} duplicates_t;

/* Adds up a group of equal blocks, for the function of the first: all but one could go. */
static void add_equal(duplicates_t *sums, const mw_fact_block_t *const *group, size_t count) {
	int64_t bytes = 0, objects = 0;
	for (size_t i = 0; i < count; i++) {
		bytes += group[i]->bytes;
		objects += group[i]->objects;
	}
	duplicates_t *sum = &sums[group[0]->function];
	sum->bytes += bytes - group[0]->usable_bytes;
	sum->blocks += objects;
	sum->contents++;
}

static void add_duplicates(const mw_facts_t *facts, duplicates_t *sums) {
	const mw_fact_block_t **order = mw_xcalloc(facts->block_count, sizeof(*order));
	size_t count = 0;
	for (size_t i = 0; i < facts->block_count; i++)
		if (facts->blocks[i].content != 0)
			order[count++] = &facts->blocks[i];
	if (count > 1)
		qsort(order, count, sizeof(*order), compare_contents);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && compare_contents(&order[i], &order[end]) == 0;)
			end++;
		if (end - i > 1)
			add_equal(sums, &order[i], end - i);
	}
	free(order);
}

void mw_detect_duplicates(const mw_facts_t *facts, mw_findings_t *findings) {
	duplicates_t *sums = mw_xcalloc(facts->function_count, sizeof(*sums));
	add_duplicates(facts, sums);
	for (size_t i = 0; i < facts->function_count; i++) {
		const duplicates_t *sum = &sums[i];
		char *name = facts->functions[i].name;
		if (sum->bytes < MW_FINDING_BYTES_MIN)
			continue;
		mw_finding_add(
			findings,
			&(mw_finding_t){.kind = MW_FINDING_duplicates,
					.function = name,
					.share = mw_fact_share(sum->bytes, facts->live_bytes),
					.bytes = sum->bytes,
					.objects = sum->blocks},
			"%s holds %s large blocks with %s: one of each would save %s", name,
			mw_say_count(sum->blocks),
			sum->contents == 1 ? "the same contents" : "contents that others have, too",
			mw_say_bytes(sum->bytes));
	}
	free(sums);
}
